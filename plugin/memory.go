package plugin

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
)

const (
	// defaultMemory is what a command that only reads files may keep in memory where the user set no GOMEMLIMIT:
	// ten times what the largest cluster's takes.
	defaultMemory = 2 << 30
	// sampling is how often memory is looked at: in that time some 20 MB are allocated.
	sampling = 20 * time.Millisecond
	// ending is how long a command that is over has to end by itself. Not all that judges asks whether it is over
	// as often, and memory grows meanwhile: then the process ends without it.
	ending = 200 * time.Millisecond
)

// memoryGuard ends a command that only reads files when they take too much memory: who wrote a file of some
// kilobytes may have made it for that. A command that writes to a cluster or a node is never ended so: it has
// no --from, or only says what it would do. Nor is one that has begun to answer.
type memoryGuard struct {
	limit uint64
	over  chan struct{} // closed when there is too much

	mu       sync.Mutex
	exceeded error // why it is over
	answers  bool
}

func newMemoryGuard() *memoryGuard {
	g := &memoryGuard{limit: defaultMemory, over: make(chan struct{})}
	if set := debug.SetMemoryLimit(-1); set != math.MaxInt64 {
		g.limit = uint64(set) //nolint:gosec // it is not negative
	}
	return g
}

// answer is called before the first byte of an answer is written, and is an error where none may be.
func (g *memoryGuard) answer() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answers = g.exceeded == nil
	return g.exceeded
}

// guards reports whether a command only reads files, or is completed by what they say.
func (*memoryGuard) guards(cmd *cobra.Command, args []string) bool {
	if completes(cmd) {
		return slices.ContainsFunc(args, func(word string) bool { return strings.HasPrefix(word, "--from") })
	}
	from := cmd.Flags().Lookup("from")
	return from != nil && from.Changed
}

func completes(cmd *cobra.Command) bool {
	return cmd.Name() == cobra.ShellCompRequestCmd || cmd.Name() == cobra.ShellCompNoDescRequestCmd
}

// watch looks at what is in memory until ctx ends or the command answers. why is what it is over for.
func (g *memoryGuard) watch(ctx context.Context, heap func() uint64, why error) {
	tick := time.NewTicker(sampling)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if heap() <= g.limit {
			continue
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		if !g.answers {
			g.exceeded = why
			close(g.over)
		}
		return
	}
}

// why is the error of a command that is over.
func (g *memoryGuard) why(cmd *cobra.Command, args []string) error {
	const who = "ask who made it: a cluster's takes a tenth of 2 GiB"
	variable := fmt.Sprintf("GOMEMLIMIT=%dMiB", 2*g.limit>>20)
	if completes(cmd) { // its flags are not parsed: among its words may be a token, and the parts of a command with a password
		return cli.WithHint(fmt.Errorf("completion from the files of --from: it takes more than %d MiB of memory, the limit", g.limit>>20), who+". To complete all the same, set %s", variable)
	}
	files, err := cmd.Flags().GetStringArray("from")
	if err != nil {
		files = nil
	}
	over := fmt.Errorf("--from %s: it takes more than %d MiB of memory, the limit: nothing was judged or written", foreign.Texts(files), g.limit>>20)
	line := strings.Fields(cmd.CommandPath())
	for _, word := range args {
		line = append(line, nodeexec.Quote(word))
	}
	again := strings.Join(line, " ") + strings.TrimPrefix(apply.CommandLine(cmd), cmd.CommandPath())
	if !foreign.Prints(again) { // a file's name may be another's
		return cli.WithHint(over, who+". To read it all the same, set %s", variable)
	}
	return cli.WithHint(over, who+". To read it all the same:\n%s %s", variable, again)
}

// heapInUse returns a function that tells the bytes of all objects in memory.
func heapInUse() func() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	return func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
}

// run runs a command, which ends before its time where it is over.
func (g *memoryGuard) run(ctx context.Context, cmd *cobra.Command) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	prepare := cmd.PersistentPreRunE
	cmd.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if g.guards(cmd, args) {
			go g.watch(ctx, heapInUse(), g.why(cmd, args))
		}
		return prepare(cmd, args)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.ExecuteContext(ctx) }()
	select {
	case err := <-done:
		if over := g.answer(); over != nil { // which its error may be about
			return over
		}
		return err
	case <-g.over:
	}
	err := g.answer()
	cancel(err)
	select {
	case <-done: //nolint:errcheck // why it is over says more
	case <-time.After(ending):
	}
	return err
}
