package apiint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// Share is a number of nodes, or a part of all.
type Share struct {
	N       int // at least 1
	Percent bool
}

// ParseShare reads "2" or "10%".
func ParseShare(text string) (Share, error) {
	digits, percent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || percent && n > 100 || strings.Trim(digits, "0123456789") != "" {
		return Share{}, fmt.Errorf("%q is neither a number of nodes, at least 1, nor a percentage such as 10%%", text)
	}
	return Share{n, percent}, nil
}

// scaled is the share of so many nodes, rounded down, and at least 1.
func (s Share) scaled(nodes int) int {
	if s.Percent {
		return max(nodes*s.N/100, 1)
	}
	return max(s.N, 1)
}

// Order says which nodes are repaired when, where all are.
type Order struct {
	Only           []string // names of waves; none: all of them
	MaxUnavailable Share    // of Ready workers; the zero value is one
	Accept         []string // risks, by name
}

// wants reports whether a wave is chosen: by its name, or by one for several.
func (o Order) wants(wave string) bool {
	worker := wave == remediate.WaveNotReady || wave == remediate.WaveFirst || wave == remediate.WaveWorkers
	return len(o.Only) == 0 || slices.Contains(o.Only, wave) ||
		worker && slices.Contains(o.Only, remediate.WaveWorkers) ||
		(worker || wave == remediate.WaveMasters) && slices.Contains(o.Only, remediate.WaveNodes)
}

// wantsWorkers reports whether any wave of workers is chosen.
func (o Order) wantsWorkers() bool {
	return o.wants(remediate.WaveNotReady) || o.wants(remediate.WaveFirst) || o.wants(remediate.WaveWorkers)
}

// mastersAlone reports whether nothing comes after the control plane nodes.
func (o Order) mastersAlone() bool { return slices.Equal(o.Only, []string{remediate.WaveMasters}) }

// workerWaves adds the waves of workers that are chosen, in this order.
func (o Order) workerWaves(d *remediate.Draft, waves ...remediate.Wave) {
	for _, w := range waves {
		if o.wants(w.Name) {
			d.AddWave(w)
		}
	}
}
