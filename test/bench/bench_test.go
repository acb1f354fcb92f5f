// Package bench measures inspect on the lab's API server beside a bare list of
// the same objects and beside other programs that list certificates: whole
// processes, in turn, in one run, so that their ratios mean something although
// absolute times on a shared machine do not.
//
//	make bench
//	make bench BENCH=large
package bench

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

// size is a cluster, and what must hold on it.
type size struct {
	name   string
	before []load // the stages in which it is filled, to see what each adds to memory
	full   load
}

func small() size {
	return size{
		name: "small",
		before: []load{
			{namespaces: 300, secrets: 2500, configMaps: 1500, certificates: 1000},
			{namespaces: 300, secrets: 5000, configMaps: 3000, certificates: 1000},
		},
		full: load{namespaces: 300, secrets: 5000, configMaps: 3000, certificates: 4500, bundles: 300},
	}
}

func large() size {
	return size{name: "large", full: load{namespaces: 3000, secrets: 50000, configMaps: 30000, certificates: 45000, bundles: 3000}}
}

// Goals: a run takes at most 1.2 times as long as the bare list, and less than
// any other program; it finds every certificate that one of them finds. With the
// small cluster it takes less than 80 MB, a further certificate at most 4 kB, and
// an object that holds none next to nothing (half a kB: what heap and pages
// jitter by).
const (
	mostRatio    = 1.2
	mostMB       = 80
	mostKBCert   = 4
	mostBOther   = 500
	runsForPeaks = 9
)

// BenchmarkInspect fills a cluster and lets every contender read it, in turn.
func BenchmarkInspect(b *testing.B) {
	b.Run("small", func(b *testing.B) { compare(b, small()) })
	b.Run("large", func(b *testing.B) {
		if os.Getenv("BENCH") != "large" {
			b.Skip("takes a quarter of an hour: make bench BENCH=large")
		}
		compare(b, large())
	})
}

func compare(b *testing.B, s size) {
	lab := labtest.Temporary(b)
	all := contenders(b, lab)
	certrot := all[1]
	var filled load
	var peaks []int64
	for _, l := range append(s.before, s.full) {
		populate(b, lab.Kubeconfig, filled, l)
		filled = l
		var peak []int64
		for range runsForPeaks {
			r, err := measure(b, lab.Kubeconfig, certrot, nil)
			if err != nil {
				b.Fatal(err)
			}
			peak = append(peak, r.rss)
		}
		peaks = append(peaks, median(peak))
	}
	results := make([]result, len(all))
	for i, c := range all {
		results[i] = count(b, lab.Kubeconfig, c)
	}
	load := loadAverage()
	for b.Loop() {
		for i, c := range all {
			if results[i].of.missing != "" || len(results[i].runs) > 0 && results[i].runs[0].wall > time.Minute {
				continue
			}
			r, err := measure(b, lab.Kubeconfig, c, nil)
			if err != nil {
				results[i].runs, results[i].of.missing = nil, err.Error()
				continue
			}
			results[i].runs = append(results[i].runs, r)
			b.Logf("%s: %v, CPU %v, %d MB", c.name, r.wall, r.cpu, r.rss/1e6)
		}
	}
	t := table{s, lab.Kubeconfig, load, results}
	b.Log("\n" + t.markdown())
	if os.Getenv("UPDATE") == "1" {
		t.write(b)
	}
	goal := func(value float64, unit string, most float64) {
		b.ReportMetric(value, unit)
		if value > most {
			b.Errorf("%s is %.3f; the goal is at most %.3f", unit, value, most)
		}
	}
	bare, ours := results[0], results[1]
	goal(ours.ratio(bare), "wall-ratio", mostRatio)
	if n := len(peaks) - 1; n == 2 {
		goal(float64(peaks[n])/1e6, "MB", mostMB)
		goal(float64(peaks[2]-peaks[1])/1e3/float64(s.full.distinct()-s.before[1].distinct()), "kB/cert", mostKBCert)
		others := s.before[1].secrets + s.before[1].configMaps - s.before[0].secrets - s.before[0].configMaps
		goal(float64(peaks[1]-peaks[0])/float64(others), "B/other", mostBOther)
	} else {
		b.ReportMetric(float64(peaks[n])/1e6, "MB")
	}
	for _, r := range results[3:] { // after the bare list and the two forms of inspect
		if len(r.runs) == 0 {
			continue
		}
		if r.wall() < ours.wall() {
			b.Errorf("%s took %v, inspect %v", r.of.name, r.wall(), ours.wall())
		}
		if r.found > ours.found {
			b.Errorf("%s found %d certificates, inspect %d", r.of.name, r.found, ours.found)
		}
	}
	b.ReportMetric(results[2].ratio(bare), "wall-ratio-json")
	b.ReportMetric(float64(ours.wall().Milliseconds()), "ms")
	b.ReportMetric(0, "ns/op") // means nothing here
}

// run is one finished process, and all that it started.
type run struct {
	wall, cpu time.Duration
	rss       int64 // bytes: of the largest process
}

// longest is what one run may take; who takes longer is out.
const longest = 5 * time.Minute

var errTooLong = fmt.Errorf("took more than %v", longest)

// measure runs a contender and returns what the kernel accounted for it, or
// errTooLong.
func measure(b *testing.B, kubeconfig string, c contender, out io.Writer) (run, error) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), longest)
	defer cancel()
	file := filepath.Join(b.TempDir(), "took")
	cmd := exec.CommandContext(ctx, c.stopwatch, append([]string{file}, c.argv...)...)
	cmd.Env = append(os.Environ(), append(c.env, "KUBECONFIG="+kubeconfig)...)
	if c.serves == "" { // else it is what it serves
		cmd.Stdout = out
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	began := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	var ready time.Duration
	if c.serves != "" {
		ok := untilReady(ctx, "http://"+c.serves+"/readyz")
		ready = time.Since(began)
		if ok && out != nil {
			_, _ = out.Write(settled(ctx, b, "http://"+c.serves+"/metrics", c.found))
		}
		_ = cmd.Process.Signal(os.Interrupt)
	}
	err := cmd.Wait()
	if ctx.Err() != nil && b.Context().Err() == nil {
		return run{}, errTooLong
	}
	var took struct {
		Wall, CPU time.Duration
		RSS       int64
		Code      int
	}
	data, readErr := os.ReadFile(file)
	if err := cmp.Or(err, readErr, json.Unmarshal(data, &took)); err != nil {
		b.Fatalf("%s: %v\n%s", c.name, err, stderr.String())
	}
	if c.serves != "" {
		return run{ready, took.CPU, took.RSS}, nil
	}
	if took.Code != 0 && took.Code != c.code {
		b.Fatalf("%s ended with %d\n%s", c.name, took.Code, stderr.String())
	}
	return run{took.Wall, took.CPU, took.RSS}, nil
}

// untilReady waits for a server that says when it has read everything.
func untilReady(ctx context.Context, url string) bool {
	for ; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		answer, err := http.Get(url)
		if err != nil {
			continue
		}
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return true
		}
	}
	return false
}

// settled returns what is at a URL once it holds certificates, and two answers in a
// row hold as many: what a server serves follows a moment after it is ready.
func settled(ctx context.Context, b *testing.B, url string, found *regexp.Regexp) []byte {
	b.Helper()
	var last []byte
	for ; ctx.Err() == nil; time.Sleep(200 * time.Millisecond) {
		answer, err := http.Get(url)
		if err != nil {
			b.Fatal(err)
		}
		page, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil {
			b.Fatal(err)
		}
		if n := len(found.FindAll(page, -1)); n > 0 && n == len(found.FindAll(last, -1)) {
			return page
		}
		last = page
	}
	return last
}

func median[T int64 | float64 | time.Duration](values []T) T {
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}

// BenchmarkHelp reports how long the program takes to say how it is used.
func BenchmarkHelp(b *testing.B) {
	certrot := filepath.Join(b.TempDir(), "kubectl-certrot")
	build(b, certrot, "../..", "./cmd/kubectl-certrot")
	for b.Loop() {
		if err := exec.Command(certrot, "--help").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// build builds a program of this checkout.
func build(b *testing.B, to, module, pkg string) {
	b.Helper()
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", to, pkg)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released: libc alone is 18 MB
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("go build %s: %v\n%s", pkg, err, out)
	}
}
