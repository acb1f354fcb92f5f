package bench

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/clientcmd"
)

// result is what was measured of one contender.
type result struct {
	of              contender
	runs            []run
	requests, bytes int64
	found           int
}

func each[T any](runs []run, of func(run) T) []T {
	var out []T
	for _, r := range runs {
		out = append(out, of(r))
	}
	return out
}

func (r result) wall() time.Duration {
	return median(each(r.runs, func(r run) time.Duration { return r.wall }))
}

// ratio is the median of the ratios of what ran in the same turn.
func (r result) ratio(to result) float64 {
	var ratios []float64
	for i := range r.runs {
		ratios = append(ratios, r.runs[i].wall.Seconds()/to.runs[i].wall.Seconds())
	}
	return median(ratios)
}

// table is what was measured at one size, for people.
type table struct {
	size       size
	kubeconfig string
	load       string // the machine's, before
	results    []result
}

func (t table) markdown() string {
	var s strings.Builder
	l := t.size.full
	fmt.Fprintf(&s, "%d secrets, %d config maps, %d namespaces, %d distinct certificates made for it. %s.\n\n", l.secrets, l.configMaps, l.namespaces, l.distinct(), t.machine())
	s.WriteString("| | wall, s | × bare | CPU, s | peak, MB | requests | MB read | certificates | reads |\n|-|-|-|-|-|-|-|-|-|\n")
	bare := t.results[0]
	for _, r := range t.results {
		if len(r.runs) == 0 {
			fmt.Fprintf(&s, "| %s | not measured: %s | | | | | | | %s |\n", r.of.name, r.of.missing, r.of.reads)
			continue
		}
		seconds := func(of func(run) time.Duration) string {
			all := each(r.runs, of)
			if len(all) == 1 {
				return fmt.Sprintf("%.2f (one run)", all[0].Seconds())
			}
			return fmt.Sprintf("%.2f (%.2f–%.2f)", median(all).Seconds(), slices.Min(all).Seconds(), slices.Max(all).Seconds())
		}
		rss := each(r.runs, func(r run) int64 { return r.rss })
		fmt.Fprintf(&s, "| %s | %s | %.2f | %s | %d | %d | %.1f | %d | %s |\n", r.of.name,
			seconds(func(r run) time.Duration { return r.wall }), r.ratio(bare), seconds(func(r run) time.Duration { return r.cpu }),
			median(rss)/1e6, r.requests, float64(r.bytes)/1e6, r.found, r.of.reads)
	}
	return s.String()
}

// machine describes where it was measured.
func (t table) machine() string {
	kubernetes := ""
	if config, err := clientcmd.BuildConfigFromFlags("", t.kubeconfig); err == nil {
		if v, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerVersion(); err == nil {
			kubernetes = ", Kubernetes " + v.GitVersion
		}
	}
	return fmt.Sprintf("%s, which the API server and etcd share%s; load average before the first run %s; %d runs in turn, median (least–most)",
		machineAlone(), kubernetes, t.load, len(t.results[0].runs))
}

func machineAlone() string {
	memory, cpu := "", ""
	for _, line := range lines("/proc/meminfo") {
		var kb int
		if n, _ := fmt.Sscanf(line, "MemTotal: %d kB", &kb); n == 1 {
			memory = fmt.Sprintf(", %d GB", kb>>20)
		}
	}
	for _, line := range lines("/proc/cpuinfo") {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			cpu = " (" + strings.TrimSpace(value) + ")"
		}
	}
	return fmt.Sprintf("%d cores%s%s, %s", runtime.NumCPU(), cpu, memory, runtime.Version())
}

func loadAverage() string {
	one, _, _ := strings.Cut(strings.Join(lines("/proc/loadavg"), " "), " ")
	return one
}

func lines(file string) []string {
	data, _ := os.ReadFile(file) // where there is none, nothing is said
	return strings.Split(string(data), "\n")
}

// write puts the table into the page that has it.
func (t table) write(b *testing.B) { writeMeasured(b, t.size.name, t.markdown()) }

func writeMeasured(b *testing.B, name, measured string) {
	b.Helper()
	const page = "../../docs/performance.md"
	text, err := os.ReadFile(page)
	if err != nil {
		b.Fatal(err)
	}
	begin, end := fmt.Sprintf("<!-- measured: %s -->\n", name), "<!-- end -->"
	head, rest, ok := strings.Cut(string(text), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		b.Fatalf("%s has no %s", page, begin)
	}
	if err := os.WriteFile(page, []byte(head+begin+measured+end+tail), 0o644); err != nil {
		b.Fatal(err)
	}
}
