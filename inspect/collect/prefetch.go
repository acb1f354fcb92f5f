package collect

import (
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// prefetch is the next page of a list, asked for while the page before it is still
// read: its token comes first in an answer. So the server gets one page ready
// while another is unpacked and scanned here, and a list takes as long as the
// slower of the two and not as both.
type prefetch struct {
	opts    metav1.ListOptions
	answers chan opened // nil: nothing was asked for
}

type opened struct {
	body io.ReadCloser
	err  error
}

// start asks for a page, if there is one. A page that is smaller than usual is one
// of a list that timed out: there, one at a time is enough.
func (a *prefetch) start(opts metav1.ListOptions, ask func(metav1.ListOptions) (io.ReadCloser, error)) {
	if a.answers != nil || opts.Continue == "" || opts.Limit < pageSize {
		return
	}
	answers := make(chan opened, 1)
	a.opts, a.answers = opts, answers
	go func() {
		body, err := ask(opts)
		answers <- opened{body, err}
	}()
}

// take returns a page: the one that was asked for ahead, if it is that.
func (a *prefetch) take(opts metav1.ListOptions, ask func(metav1.ListOptions) (io.ReadCloser, error)) (io.ReadCloser, error) {
	if a.answers == nil || a.opts.Continue != opts.Continue || a.opts.Limit != opts.Limit {
		a.drop()
		return ask(opts)
	}
	page := <-a.answers
	a.answers = nil
	return page.body, page.err
}

// drop forgets a page: the one before it has to be read again.
func (a *prefetch) drop() {
	answers := a.answers
	if a.answers = nil; answers == nil {
		return
	}
	go func() { // until it answers, or the caller's ctx ends
		if page := <-answers; page.err == nil {
			_ = page.body.Close() // nothing of it was read
		}
	}()
}
