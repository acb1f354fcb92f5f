package action

import (
	"sync"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeconfig"
)

// Cache is what was read for a plan already. The nodes of a cluster have the same
// CAs and mostly the same files, and proving an edit of one takes longer than all
// the rest of a node's plan; each distinct text is read once. What it returns is
// shared and must not be changed. It is safe for concurrent use; nil remembers
// nothing.
type Cache struct {
	Certs *pki.Scanner
	cas   sync.Map // by the text of a kubeconfig: answer[kubeconfig.CA]
	edits sync.Map // by the text and the CA that is wanted: answer[kubeconfig.Edit]
}

type answer[T any] struct {
	value T
	err   error
}

// NewCache returns an empty one.
func NewCache() *Cache { return &Cache{Certs: pki.NewScanner()} }

// Scanner reads certificates; a nil Cache has one, too.
func (k *Cache) Scanner() *pki.Scanner {
	if k == nil {
		return pki.NewScanner()
	}
	return k.Certs
}

// Find is kubeconfig.Find.
func (k *Cache) Find(text []byte) (kubeconfig.CA, error) {
	if k == nil {
		return kubeconfig.Find(text)
	}
	return once(&k.cas, string(text), func() (kubeconfig.CA, error) { return kubeconfig.Find(text) })
}

// setCA is kubeconfig.SetCA.
func (k *Cache) setCA(text, pem []byte) (kubeconfig.Edit, error) {
	if k == nil {
		return kubeconfig.SetCA(text, pem)
	}
	return once(&k.edits, [2]string{string(text), string(pem)}, func() (kubeconfig.Edit, error) { return kubeconfig.SetCA(text, pem) })
}

func once[T any](answers *sync.Map, key any, ask func() (T, error)) (T, error) {
	known, _ := answers.Load(key)
	if a, ok := known.(answer[T]); ok {
		return a.value, a.err
	}
	value, err := ask()
	answers.Store(key, answer[T]{value, err})
	return value, err
}
