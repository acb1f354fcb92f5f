package bench

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// gatherGoal is one form of a must-gather, and how long inspect may take for it.
type gatherGoal struct {
	form, file string
	reference  []string // a program that reads the same files, and judges nothing
	most       float64  // times the reference's time; 0: MB a second are asked for
	leastMB    float64  // a second of processor time
	missed     bool     // known, and said in docs/performance.md
}

// BenchmarkMustGather lets inspect read the sample must-gather in three forms, each in turn with a
// program that reads the same.
func BenchmarkMustGather(b *testing.B) {
	sample := os.Getenv("CERTROT_MUST_GATHER")
	if sample == "" {
		b.Skip("data file absent: must-gather-aws.tar.xz: set CERTROT_MUST_GATHER to its path (see docs/must-gather.md)")
	}
	for _, tool := range []string{"xz", "tar", "grep", "sh"} {
		if _, err := exec.LookPath(tool); err != nil {
			b.Skip("no program " + tool + " on this machine")
		}
	}
	dir := b.TempDir()
	bin := func(name string) string { return filepath.Join(dir, name) }
	build(b, bin("kubectl-certrot"), "../..", "./cmd/kubectl-certrot")
	build(b, bin("stopwatch"), "../..", "./test/bench/stopwatch")
	plain, unpacked := bin("mg.tar"), bin("mg")
	if out, err := exec.Command("sh", "-c", `xz -dc "$1" > "$2" && mkdir "$3" && tar xf "$2" -C "$3"`, "sh", sample, plain, unpacked).CombinedOutput(); err != nil {
		b.Fatalf("unpack %s: %v\n%s", sample, err, out)
	}
	info, err := os.Stat(plain)
	if err != nil {
		b.Fatal(err)
	}
	mb := float64(info.Size()) / 1e6
	goals := []gatherGoal{
		{form: ".tar", file: plain, reference: []string{"tar", "tf", plain}, leastMB: 100},
		{form: ".tar.xz", file: sample, reference: []string{"sh", "-c", `xz -dc "$1" | tar t`, "sh", sample}, most: 3},
		{form: "directory", file: unpacked, reference: []string{"grep", "-r", "CERTIFICATE", unpacked}, most: 2, missed: true},
	}
	ours, theirs := make([]result, len(goals)), make([]result, len(goals))
	load := loadAverage()
	for b.Loop() {
		for i, g := range goals {
			for _, c := range []struct {
				to   *result
				argv []string
			}{{&ours[i], []string{bin("kubectl-certrot"), "inspect", "--from", g.file}}, {&theirs[i], g.reference}} {
				r, err := measure(b, "", contender{name: g.form, argv: c.argv, env: []string{"LC_ALL=C"}, code: 3, stopwatch: bin("stopwatch")}, io.Discard)
				if err != nil {
					b.Fatal(err)
				}
				c.to.runs = append(c.to.runs, r)
			}
		}
	}
	var s strings.Builder
	fmt.Fprintf(&s, "%.0f MB unpacked. %s; load average before the first run %s; %d runs in turn, median.\n\n", mb, machineAlone(), load, len(ours[0].runs))
	s.WriteString("| | inspect: wall, s | CPU, s | peak, MB | beside it | its wall, s | CPU, s | × wall | × CPU | goal |\n|-|-|-|-|-|-|-|-|-|-|\n")
	for i, g := range goals {
		cpu := func(r result) float64 {
			return median(each(r.runs, func(r run) time.Duration { return r.cpu })).Seconds()
		}
		speed := mb / cpu(ours[i])
		goal, reached := fmt.Sprintf("at most %.0f × wall", g.most), ours[i].ratio(theirs[i]) <= g.most
		if g.most == 0 {
			goal, reached = fmt.Sprintf("%.0f MB a second of CPU: %.0f", g.leastMB, speed), speed >= g.leastMB
		}
		if !reached {
			goal += "; missed"
			if !g.missed {
				b.Errorf("%s: %s", g.form, goal)
			}
		}
		beside := strings.NewReplacer(plain, "FILE", unpacked, "DIRECTORY", "sh -c ", "", ` "$1"`, " FILE", " sh "+sample, "", "|", `\|`).Replace(strings.Join(g.reference, " "))
		fmt.Fprintf(&s, "| %s | %.2f | %.2f | %d | `%s` | %.2f | %.2f | %.1f | %.1f | %s |\n", g.form, ours[i].wall().Seconds(), cpu(ours[i]),
			median(each(ours[i].runs, func(r run) int64 { return r.rss }))/1e6, beside, theirs[i].wall().Seconds(), cpu(theirs[i]), ours[i].ratio(theirs[i]), cpu(ours[i])/cpu(theirs[i]), goal)
	}
	b.Log("\n" + s.String())
	if os.Getenv("UPDATE") == "1" {
		writeMeasured(b, "must-gather", s.String())
	}
	b.ReportMetric(0, "ns/op") // means nothing here
}
