package remediate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeconfig"
)

// Action is one small change of one node, or of the cluster.
type Action interface {
	// ID names it in plans and journals, and is the same whenever the same is to
	// be done.
	ID() string
	// Node is the node that it changes, or at which it is done; empty: the cluster.
	Node() string
	// Diff says what it would change, by the facts alone; nil where nothing
	// is to be done. An error is a *Refusal where the facts do not allow it.
	Diff(snapshot inspect.Snapshot, now time.Time) (*Change, error)
	// Apply does it, only while what it changes is as it was planned: otherwise the error is
	// ErrChanged, and nothing was done. A file is compared by its bytes, an object by its
	// resourceVersion or UID; of an object that is read again first, only what was planned is
	// written. Doing it twice is harmless.
	Apply(ctx context.Context, env *Env, c *Change) error
	// Verify asks for the effect, not for the write. A *BadEffectError says that what was
	// written fails its own check; any other error that the effect is unknown, or
	// late.
	Verify(ctx context.Context, env *Env, c *Change) error
}

// What an Action may be besides. Each says so with an assertion beside its type
// (var _ Waiter = …), so that a misspelt method does not compile.
type (
	// Waiter changes nothing of a node, and waits for the effect of earlier actions.
	Waiter interface {
		Action
		Waits()
	}
	// Approver approves requests of its node's kubelet.
	Approver interface {
		Action
		Approves()
	}
	// KubeletRestarter restarts the kubelet of its node.
	KubeletRestarter interface {
		Action
		RestartsKubelet()
	}
	// NodeAwaiter is a Waiter that waits until its node reports.
	NodeAwaiter interface {
		Waiter
		AwaitsNode()
	}
	// Rechecker asks once more, before it is begun, whether it may be: facts may be older than
	// the answer to the plan. A *Refusal says why not.
	Rechecker interface {
		Action
		Recheck(ctx context.Context, env *Env, c *Change) error
	}
	// Reverter puts the file that it wrote back, where that fails its own check (BadEffectError),
	// and only while it is as Apply left it. The engine alone calls it: the command undo plans
	// actions of its own (remediate/undo).
	Reverter interface {
		Action
		Revert(ctx context.Context, env *Env, c *Change) error
	}
	// Undoable is put back by an undo of its run, although it writes no file.
	Undoable interface {
		Action
		Undoable()
	}
	// Counted is one of several that a short plan adds up, such as "restart 3 pods".
	Counted interface {
		Action
		Count() Count
	}
	// TimeLimited says how long it may take, where that is more than the engine gives each action.
	TimeLimited interface {
		Action
		Timeout() time.Duration
	}
)

// Count is what an action is done to, and how many of them.
type Count struct {
	Verb string // "restart"
	Of   string // "pod", in the singular
	N    int
}

// Waits reports whether an action is a Waiter.
func Waits(a Action) bool { _, ok := a.(Waiter); return ok }

// RestartsKubelet reports whether an action is a KubeletRestarter.
func RestartsKubelet(a Action) bool { _, ok := a.(KubeletRestarter); return ok }

// ApprovesRequests reports whether an action is an Approver.
func ApprovesRequests(a Action) bool { _, ok := a.(Approver); return ok }

// AwaitsNode reports whether an action is a NodeAwaiter.
func AwaitsNode(a Action) bool { _, ok := a.(NodeAwaiter); return ok }

// IsUndoable reports whether an undo of its run puts back what an action changed: a file, or
// what an Undoable did.
func IsUndoable(a Action, c *Change) bool { _, ok := a.(Undoable); return ok || c.File != nil }

// Change is what an action would do.
type Change struct {
	Summary string // for people, without the node
	// File is what happens to a file on a node; nil: the action writes none. With it, the engine
	// compares the change with the one that was planned, and checks it to the end although the run
	// is interrupted.
	File *FileChange
	// Deltas are what it does to the facts.
	Deltas []inspect.Delta
	// Versions are what runs, for actions that judge again when they are applied.
	Versions catalog.Versions
	// Own is what the action keeps of the facts for Apply and Verify. The engine does not look at it.
	Own any
}

// FileChange is what happens to a file on a node: CAs are added to a kubeconfig, or a kubeconfig,
// a certificate or a link is removed or put back.
type FileChange struct {
	Path   string
	SHA256 pki.Fingerprint // of the file for which the change was made
	Edit   kubeconfig.Edit // empty where a backup is put back
	// Before and After are the texts, with keys and tokens overwritten.
	Before, After []byte
	// Old and New are the CAs in it.
	Old, New []*pki.Cert
	// Removed: it is removed from its name, or was, and is put back.
	Removed bool
	// Link is what a symbolic link says now; empty: it is none.
	Link string
}

// same reports whether two changes do the same to the same file: facts may be
// read again between showing a change and making it. What is done to an object does not
// depend on facts that are read again: its action keeps it, with the condition of its write.
func (c *Change) same(d *Change) bool {
	if c == nil || d == nil || (c.File == nil) != (d.File == nil) {
		return c == d
	}
	return c.File == nil || c.File.SHA256 == d.File.SHA256 && c.File.Link == d.File.Link && string(c.File.After) == string(d.File.After)
}

// ErrChanged means that a node is no longer as it was when the plan was made,
// and that nothing was done: read it again and make a new plan.
var ErrChanged = errors.New("it changed after it was read")

// Names of refusals that say that a file is not what it was.
const (
	FileRead     = "file-read"
	FileShape    = "kubeconfig-shape"
	ChangedSince = "changed-since"
)

// BreaksTrust is the risk that a kubelet does not trust what is presented to it afterwards.
const BreaksTrust = "breaks-trust"

// Refusal says why something is not done. Nothing was changed.
type Refusal struct {
	Name   string // of the check, lower-kebab; what --accept-risk would take, where Risk
	Node   string // empty: all of them
	Reason string
	Next   string
	Risk   bool // it may be accepted by name
	Cause  error
}

// Unwrap is what failed; nil: nothing did.
func (r *Refusal) Unwrap() error { return r.Cause }

func (r *Refusal) Error() string {
	if r.Node == "" {
		return fmt.Sprintf("%s: %s", r.Name, r.Reason)
	}
	return fmt.Sprintf("%s on %s: %s", r.Name, foreign.Name(r.Node), r.Reason)
}

// Assess is the refusal as an assessment: what is not done is unknown, not wrong.
func (r *Refusal) Assess() assess.Assessment {
	return assess.Assessment{ID: r.Name, Subject: foreign.Name(r.Node), Reason: r.Reason, Remediation: assess.Advise(r.Next)}
}

// NotAppliedError is a failure before anything was changed.
type NotAppliedError struct{ Inner error }

func (e *NotAppliedError) Error() string { return e.Inner.Error() }
func (e *NotAppliedError) Unwrap() error { return e.Inner }

// notApplied marks an error of Apply that says that nothing was changed.
func notApplied(err error) error {
	if errors.Is(err, host.ErrNothingChanged) && !errors.Is(err, nodeexec.ErrUnknownOutcome) {
		return &NotAppliedError{err}
	}
	return err
}

// BadEffectError says that what an action wrote fails its own check.
type BadEffectError struct{ Reason string }

func (e *BadEffectError) Error() string { return e.Reason }

// LateEffectError says that everything was done, and that the effect does not show yet.
type LateEffectError struct{ Inner error }

func (e *LateEffectError) Error() string { return e.Inner.Error() }
func (e *LateEffectError) Unwrap() error { return e.Inner }

// OwnFailureError says that something failed by what the node itself makes, or says of itself: another may do it.
type OwnFailureError struct{ Inner error }

func (e *OwnFailureError) Error() string { return e.Inner.Error() }
func (e *OwnFailureError) Unwrap() error { return e.Inner }

// UnknownEffectError says that everything was done, and that its effect could not be asked
// for.
type UnknownEffectError struct {
	Reason string
	// Enough: other nodes need not wait for this one.
	Enough bool
}

func (e *UnknownEffectError) Error() string { return e.Reason }
