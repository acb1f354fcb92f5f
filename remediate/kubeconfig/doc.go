// Package kubeconfig finds, in the text of a kubeconfig, the CA by which its
// client trusts the API server, and says how to replace it without rewriting the
// file: keys, order, quotes and comments stay as they are.
//
// It does no IO. A text may be the redacted copy of a file (package gather),
// which has x in place of every byte that did not leave the node: lengths are
// kept, so an edit of the copy is an edit of the file. Values, keys and names of
// nothing but x are therefore taken for unknown.
//
// An edit is offered only when it is proven: the text with it, read by
// go.yaml.in/yaml/v3 and as client-go does, differs from the text without it in
// this one value and in nothing else. What is in doubt is refused, with a
// [Refusal] that says what is there and what to do. Refused are also values that
// stand on several lines or are written with escapes, and files in which an
// anchor, an alias, a tag or a key that is there twice could make the value
// another one than it seems.
package kubeconfig
