package apiint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestFirstFailureBeginsNothingMore fails one node while two others are worked on.
func TestFirstFailureBeginsNothingMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		failed := make(chan struct{})
		s := &remediatetest.Stage{}
		s.Apply = func(id string) error {
			switch id {
			case "n1a":
				time.Sleep(time.Millisecond) // until n2a and n3b have begun
				defer close(failed)
				return errors.New("a disk is full")
			case "n2a", "n3b": // in the middle of something when it happens
				<-failed
				time.Sleep(50 * time.Millisecond)
			}
			return nil
		}
		story, err := s.Run(t.Context(), t, s.Plan(s.Wave(3, "n2", "n3", "n1", "n4"), s.Wave(1, "", "m1")))
		var stopped *remediate.Stopped
		if !errors.As(err, &stopped) || stopped.Action.ID() != "n1a" || !strings.Contains(err.Error(), "a disk is full") || len(stopped.OtherFailures) > 0 {
			t.Fatalf("%v", err)
		}
		if !slices.Equal(stopped.PartlyDone, []string{"n2"}) || !slices.Equal(stopped.NotStarted, []string{"n4", "a", "m1"}) {
			t.Errorf("half %q, left %q", stopped.PartlyDone, stopped.NotStarted)
		}
		slices.Sort(s.Began)
		if !slices.Equal(s.Began, []string{"n1a", "n2a", "n3a", "n3b"}) {
			t.Errorf("begun: %q", s.Began)
		}
		if story.Outcome() == "finished" || !slices.ContainsFunc(story.Records, func(r remediate.Record) bool { return r.Event == remediate.Done && r.Action == "n2a" }) {
			t.Errorf("%+v", story.Records)
		}
	})
}

// TestFailuresAtTheSameTime are all told.
func TestFailuresAtTheSameTime(t *testing.T) {
	t.Parallel()
	var both sync.WaitGroup
	both.Add(2)
	s := &remediatetest.Stage{Apply: func(id string) error {
		both.Done()
		both.Wait()
		return fmt.Errorf("%s is broken", id)
	}}
	_, err := s.Run(t.Context(), t, s.Plan(s.Wave(2, "n1", "n2", "n3")))
	var stopped *remediate.Stopped
	if !errors.As(err, &stopped) || len(stopped.OtherFailures) != 1 || !strings.Contains(err.Error(), "n1a is broken") || !strings.Contains(err.Error(), "n2a is broken") || !slices.Equal(stopped.NotStarted, []string{"n3"}) {
		t.Errorf("%v: %+v", err, stopped)
	}
}

// TestEffectThatIsNotKnown stops the run, unless nothing comes after it.
func TestEffectThatIsNotKnown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at      string
		goesOn  bool
		stopped string
	}{{"n2b", true, ""}, {"n2a", false, "n2a"}, {"n1b", false, "n1b"}} {
		s := &remediatetest.Stage{Apply: func(id string) error {
			if id == c.at {
				return &remediate.UnknownEffectError{Reason: "no server to ask"}
			}
			return nil
		}}
		_, err := s.Run(t.Context(), t, s.Plan(s.Wave(1, "n1"), s.Wave(1, "n2")))
		var stopped *remediate.Stopped
		if !errors.As(err, &stopped) || stopped.Action.ID() != c.at {
			t.Errorf("%s: %v", c.at, err)
		}
		if all := len(s.Began) == 4; all != c.goesOn {
			t.Errorf("%s: begun %q", c.at, s.Began)
		}
	}
}

// TestWhatIsNotKnownStaysSaid: a node that answers for itself lets the next wave begin, and
// what is unknown of it is not forgotten when that fails.
func TestWhatIsNotKnownStaysSaid(t *testing.T) {
	t.Parallel()
	s := &remediatetest.Stage{Apply: func(id string) error {
		switch id {
		case "n1b":
			return &remediate.UnknownEffectError{Reason: "n1 was not seen", Enough: true}
		case "n2a":
			return errors.New("n2a is broken")
		}
		return nil
	}}
	_, err := s.Run(t.Context(), t, s.Plan(s.Wave(1, "n1"), s.Wave(1, "n2")))
	var stopped *remediate.Stopped
	if !errors.As(err, &stopped) || stopped.Action.ID() != "n2a" || len(stopped.OtherFailures) != 1 || !strings.Contains(err.Error(), "n1 was not seen") {
		t.Errorf("%v: %+v", err, stopped)
	}
}

func TestWavesInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		s := &remediatetest.Stage{}
		s.Apply = func(id string) error {
			if id == "n2a" {
				cancel(errors.New("Ctrl-C"))
			}
			time.Sleep(20 * time.Millisecond)
			return nil
		}
		network, requests := s.Wave(1, "n1", "n4", "n5"), s.Wave(1, "n5")
		network.Name, requests.Name = remediate.WaveNetwork, remediate.WaveRequests
		_, err := s.Run(ctx, t, s.Plan(s.Wave(2, "n1", "n2", "n3"), s.Wave(1, "n4"), network, requests))
		var stopped *remediate.Stopped
		if !errors.As(err, &stopped) || !strings.Contains(err.Error(), "Ctrl-C") || len(stopped.OtherFailures) > 0 || !stopped.Interrupted || !slices.Equal(stopped.NotStarted, []string{"n3", "n4", "n1 (wave network)", "n4 (wave network)", "n5", "n5 (wave requests)"}) {
			t.Errorf("%v: %+v", err, stopped)
		}
		if len(s.Began) > 3 {
			t.Errorf("begun: %q", s.Began)
		}
	})
}
