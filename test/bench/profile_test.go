package bench

import (
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/plugin"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
)

// BenchmarkProfile runs inspect in this process against the cluster of
// $CERTROT_BENCH_KUBECONFIG, for profiles of it: -cpuprofile cpu.out, or what is
// on the heap at the end in $CERTROT_BENCH_HEAP.
func BenchmarkProfile(b *testing.B) {
	kubeconfig := os.Getenv("CERTROT_BENCH_KUBECONFIG")
	if kubeconfig == "" {
		b.Skip("CERTROT_BENCH_KUBECONFIG names no cluster to read")
	}
	debug.SetGCPercent(50) // as main does
	args := []string{"kubectl-certrot", "inspect", "--kubeconfig", kubeconfig}
	b.ReportAllocs()
	for b.Loop() {
		plugin.Main(b.Context(), cli.VersionOf(""), args, genericiooptions.IOStreams{In: os.Stdin, Out: io.Discard, ErrOut: io.Discard})
	}
	if name := os.Getenv("CERTROT_BENCH_HEAP"); name != "" {
		f, err := os.Create(name)
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		runtime.GC()
		if err := pprof.Lookup("allocs").WriteTo(f, 0); err != nil {
			b.Fatal(err)
		}
	}
}
