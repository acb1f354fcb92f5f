package fixapiintcmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-certrot/kubectl-certrot/plugin/ui"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/apiint"
)

// waveFlags say what is done when, where all nodes are repaired, as they were typed.
type waveFlags struct {
	only           []string
	maxUnavailable string
}

func (f *waveFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.only, "only", nil, "Only these waves: "+strings.Join(remediate.Waves(), ", ")+".")
	flags.StringVar(&f.maxUnavailable, "max-unavailable", "1", "How many workers that work (Ready, with a heartbeat) may be worked on at once, or which part of them: 3, 10%.")
	ui.Must(cmd.RegisterFlagCompletionFunc("only", cobra.FixedCompletions(remediate.Waves(), cobra.ShellCompDirectiveNoFileComp)))
}

// check is the error for flags that are wrong whatever else is given.
func (f *waveFlags) check() error {
	for _, name := range f.only {
		if !slices.Contains(remediate.Waves(), name) {
			return ui.Invalid("--only", name, remediate.Waves()...)
		}
	}
	if _, err := apiint.ParseShare(f.maxUnavailable); err != nil {
		return fmt.Errorf("--max-unavailable: %w", err)
	}
	return nil
}

// toOrder checks the flags. named: the nodes are, and done in that order.
func (f *waveFlags) toOrder(named bool, accept []string) (o apiint.Order, err error) {
	if err := f.check(); err != nil {
		return o, err
	}
	if named && (len(f.only) > 0 || f.maxUnavailable != "1") {
		return o, errors.New("--only and --max-unavailable are for all nodes: those that are named are done one after another, in that order")
	}
	o = apiint.Order{Only: f.only, Accept: accept}
	o.MaxUnavailable, err = apiint.ParseShare(f.maxUnavailable)
	return o, err
}
