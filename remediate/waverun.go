package remediate

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
)

// waveRun is who works on a wave.
type waveRun struct {
	name       string
	mu         sync.Mutex
	queue      []NodePlan      // not begun yet
	later      func() []string // what comes in later waves
	partlyDone []string
	failed     []*Stopped // in the order in which it happened
	journalErr error      // why the journal can't be kept
	unknown    error      // an effect is unknown, and need not be to go on
	begun      bool       // with the first node
}

// first reports whether this is the first call.
func (c *waveRun) first() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.begun
	c.begun = true
	return !was
}

// bothUnknown are two effects that are unknown, as one; either may be nil.
func bothUnknown(a, b error) error {
	var first *Stopped
	var one, other *UnknownEffectError
	if !errors.As(a, &first) || !errors.As(a, &one) || !errors.As(b, &other) {
		return cmp.Or(a, b)
	}
	return &Stopped{Action: first.Action, Inner: &UnknownEffectError{Reason: one.Reason + "; " + other.Reason}}
}

// withUnknown adds to why a wave stopped what is unknown of earlier ones; nil: all is.
func withUnknown(err, unknown error) error {
	var stopped, earlier *Stopped
	switch {
	case unknown == nil:
		return err
	case errors.As(err, &stopped) && errors.As(unknown, &earlier):
		stopped.OtherFailures = append(stopped.OtherFailures, earlier)
		return err
	}
	return fmt.Errorf("%w; and %s", err, unknown.Error()) // it is no effect that stopped it
}

// next takes a node from the queue; none where something failed.
func (c *waveRun) next() (n NodePlan, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.halted() || len(c.queue) == 0 {
		return n, false
	}
	n, c.queue = c.queue[0], c.queue[1:]
	return n, true
}

func (c *waveRun) halted() bool { return len(c.failed) > 0 || c.journalErr != nil }

// stop reports whether no further step is to be begun.
func (c *waveRun) stop() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.halted()
}

// ended takes down how far it came with a node.
func (c *waveRun) ended(n NodePlan, done int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var stopped *Stopped
	var unknown *UnknownEffectError
	steps := n.Due()
	switch {
	case err == nil && done == len(steps): // nothing is left to do
	case err != nil && !errors.As(err, &stopped):
		c.journalErr = err
	case errors.As(err, &unknown) && done == len(steps)-1 && (len(c.queue)+len(c.later()) == 0 || unknown.Enough) && !c.halted():
		c.unknown = bothUnknown(c.unknown, err)
	case err != nil && !(stopped.idle && c.halted()):
		c.failed = append(c.failed, stopped)
	case done > 0:
		c.partlyDone = append(c.partlyDone, n.Title())
	default:
		c.queue = append(c.queue, n)
	}
}
