// Package bench measures inspect against a bare list of the same objects on the
// lab's API server: whole processes, in turn, in one run, so that their ratio
// means something although absolute times on a shared machine do not.
//
//	make bench
package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

// run is one finished process.
type run struct {
	wall, cpu time.Duration
	rss       int64 // bytes
}

// measure runs a command and returns what the kernel accounted for it. Exit
// code 1 (findings) is an answer too.
func measure(b *testing.B, kubeconfig, path string, args ...string) run {
	b.Helper()
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	began := time.Now()
	err := cmd.Run()
	wall := time.Since(began)
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		b.Fatalf("%s: %v", path, err)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		b.Fatal("no accounting of processes on this system")
	}
	return run{wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), usage.Maxrss << 10}
}

func median[T int64 | float64 | time.Duration](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

// BenchmarkInspect reports medians over its pairs of runs with 5,000 secrets,
// 3,000 config maps and 4,500 distinct certificates in 300 namespaces. Goals:
// wall-ratio at most 1.3; MB below 80; kB/cert, the growth from 1,000 certificates
// to 4,500, at most 4; B/other, the growth for an object that holds none, next to
// nothing (half a kB: what heap and pages jitter by).
func BenchmarkInspect(b *testing.B) {
	lab := labtest.Temporary(b)
	bin := b.TempDir()
	certrot, bare := filepath.Join(bin, "kubectl-certrot"), filepath.Join(bin, "bare")
	build(b, certrot, "../../cmd/kubectl-certrot")
	build(b, bare, "./bare")
	peak := func() int64 {
		var all []int64
		for range 9 {
			all = append(all, measure(b, lab.Kubeconfig, certrot, "inspect").rss)
		}
		return median(all)
	}
	populate(b, lab.Kubeconfig, load{namespaces: 300, secrets: 1000, configMaps: 300, certificates: 1000})
	small := peak()
	populate(b, lab.Kubeconfig, load{namespaces: 300, secrets: 5000, configMaps: 3000, certificates: 1000})
	others := peak()
	populate(b, lab.Kubeconfig, load{namespaces: 300, secrets: 5000, configMaps: 3000, certificates: 4500})
	certificates := peak()
	b.ResetTimer()
	var ratio, jsonRatio []float64
	var wall []time.Duration
	for range b.N {
		theirs := measure(b, lab.Kubeconfig, bare)
		ours := measure(b, lab.Kubeconfig, certrot, "inspect")
		whole := measure(b, lab.Kubeconfig, certrot, "inspect", "-o", "json")
		ratio = append(ratio, ours.wall.Seconds()/theirs.wall.Seconds())
		jsonRatio = append(jsonRatio, whole.wall.Seconds()/theirs.wall.Seconds())
		wall = append(wall, ours.wall)
		b.Logf("bare %v cpu %v %d MB; certrot %v cpu %v %d MB", theirs.wall, theirs.cpu, theirs.rss>>20, ours.wall, ours.cpu, ours.rss>>20)
	}
	goal := func(value float64, unit string, most float64) {
		b.ReportMetric(value, unit)
		if value > most {
			b.Errorf("%s is %.3f; the goal is at most %.3f", unit, value, most)
		}
	}
	goal(median(ratio), "wall-ratio", 1.3)
	goal(float64(certificates)/1e6, "MB", 80)
	goal(float64(certificates-others)/1e3/3500, "kB/cert", 4)
	goal(float64(others-small)/6700, "B/other", 500)
	b.ReportMetric(median(jsonRatio), "wall-ratio-json")
	b.ReportMetric(float64(median(wall).Milliseconds()), "ms")
	b.ReportMetric(0, "ns/op") // means nothing here
}

// BenchmarkHelp reports how long the program takes to say how it is used.
func BenchmarkHelp(b *testing.B) {
	certrot := filepath.Join(b.TempDir(), "kubectl-certrot")
	build(b, certrot, "../../cmd/kubectl-certrot")
	b.ResetTimer()
	for range b.N {
		measure(b, "", certrot, "--help")
	}
}

func build(b *testing.B, to, pkg string) {
	b.Helper()
	cmd := exec.Command("go", "build", "-trimpath", "-o", to, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released: libc alone is 18 MB
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("go build %s: %v\n%s", pkg, err, out)
	}
}
