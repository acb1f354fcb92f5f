package collect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

const (
	pageSize    = 500 // objects a page: large enough that round trips don't count, small enough for memory
	maxExpired  = 100 // continue tokens that may expire in one list: etcd keeps some minutes, a list takes less
	minPageSize = 20  // a page that times out is asked for in smaller and smaller parts, down to this
)

// page fetches one page and passes on its objects. It returns the page's list
// metadata.
type page func(ctx context.Context, opts metav1.ListOptions) (metav1.ListMeta, error)

// listing is the outcome of listing one resource in one scope.
type listing struct {
	note string // said beside the result, such as a list that spans two moments
	err  error
	left int64 // how many objects the server said were left when err happened; -1 unknown
}

// listPages follows the continue tokens of one list.
//
// A page is tried again when the server is overloaded or breaks off, in smaller
// parts when it times out. A continue token that expired half-way (the list
// took longer than etcd keeps history) is replaced by the one the server offers
// for going on with newer data.
func listPages(ctx context.Context, opts metav1.ListOptions, fetch page) listing {
	out := listing{left: -1}
	if opts.LabelSelector != "" { // what it leaves out is not absent
		out.note = "by label: " + opts.LabelSelector
	}
	if opts.FieldSelector != "" {
		out.note = strings.TrimPrefix(out.note+"; by field: "+opts.FieldSelector, "; ")
	}
	opts.Limit = pageSize
	backoff := wait.Backoff{Duration: 250 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 5}
	tries, expired, pages := backoff, 0, foreign.Pages{}
	for {
		meta, err := fetch(ctx, opts)
		switch {
		case err == nil:
			tries = backoff
			if meta.RemainingItemCount != nil {
				out.left = *meta.RemainingItemCount
			} else {
				out.left = -1
			}
			more, err := pages.Next(meta.Continue)
			if !more {
				out.err = err
				return out
			}
			opts.Continue = meta.Continue
		// The first page is asked for without a token, so none can have expired: going on from the one in
		// the answer would leave out what is before it.
		case opts.Continue != "" && apierrors.IsResourceExpired(err) && newerToken(err) != "" && newerToken(err) != opts.Continue && expired < maxExpired:
			expired++
			opts.Continue = newerToken(err)
			if expired == 1 {
				out.note = strings.TrimPrefix(out.note+"; the list took longer than the server keeps one state: its parts are of different moments", "; ")
			}
		case transient(err) && tries.Steps > 1 && ctx.Err() == nil:
			if timedOut(err) {
				opts.Limit = max(opts.Limit/5, minPageSize)
			}
			sleep(ctx, tries.Step())
		default:
			out.err = err
			return out
		}
	}
}

// newerToken is the token with which the server lets an expired list go on,
// from newer data.
func newerToken(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().ListMeta.Continue
	}
	return ""
}

// transient reports whether the same call may go through a moment later. Of a group that
// is not served, client-go says both: not found, and that no answer of an API was expected.
func transient(err error) bool {
	if apierrors.IsNotFound(err) {
		return false
	}
	return apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsUnexpectedServerError(err) || timedOut(err) || utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || errors.Is(err, io.ErrUnexpectedEOF) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err)
}

func timedOut(err error) bool {
	var n net.Error
	return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || (errors.As(err, &n) && n.Timeout())
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// reason says what was tried and what it answered, in one line.
func reason(what string, err error) string { return fmt.Sprintf("%s: %v", what, err) }
