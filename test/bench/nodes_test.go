package bench

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/sshtest"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

const (
	manyNodes = 300
	fewNodes  = 30
	parallel  = 10
	roundTrip = 50 * time.Millisecond
)

// BenchmarkNodes reads 300 nodes by ssh, ten at a time, each 50 ms away. The
// nodes are simulated: the program has run for real, once, and they answer what
// it printed after as long as it took, since 300 shells on this machine would
// measure this machine.
//
// Goals: ratio, the time over that of one node alone times 300/10, at most 1.5;
// kB/node, what the snapshot holds of each, less than the node answered;
// MB-beyond, by how much the peak grows from 30 nodes to 300 other than by twice
// the snapshot (garbage may be as much as what is held), at most 16: the ten that
// are being read, at another moment of the collector's.
func BenchmarkNodes(b *testing.B) {
	recorded, took := record(b)
	server := sshtest.Start(b, roundTrip, func(c sshtest.Session) int {
		// The nonce is the first argument after start.sh, and the command follows.
		_, rest, _ := strings.Cut(c.Command, `exec "$@"`)
		words := strings.Fields(rest)
		if len(words) < 4 {
			return 2
		}
		_, _ = io.WriteString(c, words[2]+" 1\n")
		if words[3] == "sh" {
			_, _ = io.Copy(io.Discard, c)
			<-time.After(took)
			_, _ = c.Write(recorded)
		}
		return 0
	})
	way := &nodeexec.SSH{Home: homeThatKnows(b, server), Config: "none", Sudo: nodeexec.SudoNever, Inventory: nodeexec.Inventory{}}
	var objects []collect.NodeObject
	for i := range manyNodes {
		name := fmt.Sprintf("worker-%d", i)
		objects = append(objects, collect.NodeObject{Name: name, Ready: "True"})
		way.Inventory[name] = nodeexec.Address{Host: "127.0.0.1", Port: server.Port}
	}
	read := func(objects []collect.NodeObject) inspect.Snapshot {
		s := collect.Nodes{
			Objects: objects, Parallel: parallel, Timeout: time.Minute, Scanner: pki.NewScanner(),
			Open: func(ctx context.Context, name string) (collect.OnNode, error) {
				n, err := way.Dial(ctx, name)
				return sshNode{n}, err
			},
		}.Collect(b.Context())
		for _, g := range s.Gaps {
			if !strings.Contains(g.Reason, "services") { // the recorded node has none
				b.Fatalf("%s %s: %s", g.What, g.Where, g.Reason)
			}
		}
		if len(s.Nodes) != len(objects) || len(s.Bundles) < 100*len(objects) {
			b.Fatalf("%d nodes, %d bundles", len(s.Nodes), len(s.Bundles))
		}
		return s
	}
	b.ResetTimer()
	var ratios, alone, wall []time.Duration
	var peaks, beyond []int64
	var held int64
	for range b.N {
		var one []time.Duration
		for range 5 {
			began := time.Now()
			read(objects[:1])
			one = append(one, time.Since(began))
		}
		ideal := median(one) * manyNodes / parallel
		fewPeak, fewHeld, _ := weigh(func() any { return read(objects[:fewNodes]) })
		peak, all, took := weigh(func() any { return read(objects) })
		held = all
		ratios = append(ratios, time.Duration(took.Seconds()/ideal.Seconds()*1e6))
		alone, wall = append(alone, median(one)), append(wall, took)
		peaks = append(peaks, peak)
		beyond = append(beyond, (peak-fewPeak)-2*(all-fewHeld))
	}
	goal := func(value float64, unit string, most float64) {
		b.ReportMetric(value, unit)
		if value > most {
			b.Errorf("%s is %.3f; the goal is at most %.3f", unit, value, most)
		}
	}
	goal(float64(median(ratios))/1e6, "ratio", 1.5)
	goal(float64(median(beyond))/1e6, "MB-beyond", 16)
	goal(float64(held)/1e3/manyNodes, "kB/node", float64(len(recorded))/1e3)
	b.ReportMetric(float64(median(peaks))/1e6, "MB-peak")
	b.ReportMetric(float64(len(recorded)), "B-answer/node")
	b.ReportMetric(float64(median(alone).Milliseconds()), "ms-alone")
	b.ReportMetric(float64(median(wall).Milliseconds()), "ms")
	b.ReportMetric(0, "ns/op") // means nothing here
}

// sshNode says how it is reached.
type sshNode struct{ nodeexec.Node }

func (sshNode) Via() string { return "ssh" }

// weigh returns the most that was on the heap while something was read, what is
// there in the end, both beyond what was there before, and how long it took.
func weigh(read func() any) (peak, held int64, took time.Duration) {
	heap := func() int64 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
	runtime.GC()
	before := heap()
	stop := make(chan struct{})
	var sampler sync.WaitGroup
	sampler.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				peak = max(peak, heap()-before)
			}
		}
	})
	began := time.Now()
	result := read()
	took = time.Since(began)
	close(stop)
	sampler.Wait()
	runtime.GC()
	held = heap() - before
	runtime.KeepAlive(result)
	return peak, held, took
}

// record runs the program on a tree like a master's, and returns what it printed
// and how long it took.
func record(b *testing.B) ([]byte, time.Duration) {
	b.Helper()
	root := b.TempDir()
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ca := pkitest.NewCA("kube-apiserver-lb-signer", from, from.AddDate(10, 0, 0))
	put := func(name string, data []byte) {
		name = filepath.Join(root, "etc/kubernetes", name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	put("kubelet-ca.crt", ca.CertPEM)
	for revision := range 6 {
		for i := range 20 {
			pair := ca.Issue(fmt.Sprintf("serving-%d", i), from, from.AddDate(1, 0, 0), pkitest.DNS(fmt.Sprintf("r%d.s%d", revision, i)))
			dir := fmt.Sprintf("static-pod-resources/kube-apiserver-pod-%d/secrets/serving-%d/", revision, i)
			put(dir+"tls.crt", pair.CertPEM)
			put(dir+"tls.key", pair.KeyPEM)
		}
	}
	node, err := nodeexec.Local{Node: "master-0", Root: root}.Dial(b.Context(), "master-0")
	if err != nil {
		b.Fatal(err)
	}
	defer node.Close()
	r := &recorder{Node: node}
	if _, err := gather.Read(b.Context(), r, pki.NewScanner(), gather.Options{}); err != nil {
		b.Fatal(err)
	}
	return r.out, r.took
}

// recorder remembers what the program printed.
type recorder struct {
	nodeexec.Node
	out  []byte
	took time.Duration
}

func (r *recorder) Run(ctx context.Context, stdin io.Reader, argv ...string) (out []byte, err error) {
	began := time.Now()
	r.out, err = r.Node.Run(ctx, stdin, argv...)
	r.took = time.Since(began)
	return r.out, err
}

// homeThatKnows is a home folder with a key, and with the server's.
func homeThatKnows(b *testing.B, server *sshtest.Server) string {
	b.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		b.Fatal(err)
	}
	home := b.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
		b.Fatal(err)
	}
	for name, data := range map[string][]byte{"id_ed25519": pem.EncodeToMemory(block), "known_hosts": []byte(server.KnownHost)} {
		if err := os.WriteFile(filepath.Join(home, ".ssh", name), data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return home
}

// BenchmarkNodeBytes reports how much the lab's nodes answer. Goals: a worker
// less than 1 MB, a master less than 3.
func BenchmarkNodeBytes(b *testing.B) {
	lab := labtest.RequireNodes(b)
	for node, most := range map[string]int{"worker-0": 1e6, "master-0": 3e6} {
		var got reading
		for range b.N {
			cmd := lab.Command(b.Context(), os.Args[0], "-test.run=^TestReadANodeOfTheLab$")
			cmd.Env = append(os.Environ(), "CERTROT_BENCH_NODE="+node, "CERTROT_BENCH_SSH="+filepath.Join(lab.Dir, "ssh", "config"))
			out, err := cmd.Output()
			line, _, _ := strings.Cut(string(out), "\n")
			if jsonErr := json.Unmarshal([]byte(line), &got); err != nil || jsonErr != nil {
				b.Fatalf("%v, %v: %s", err, jsonErr, out)
			}
		}
		b.ReportMetric(float64(got.Bytes), "B-"+node)
		b.ReportMetric(float64(got.Milliseconds), "ms-"+node)
		b.Logf("%s: %+v", node, got)
		if got.Bytes >= most {
			b.Errorf("%s answers %d bytes, and may answer %d", node, got.Bytes, most)
		}
	}
	b.ReportMetric(0, "ns/op") // means nothing here
}

type reading struct {
	Bytes, Files, Gaps int
	Milliseconds       int64 // of the program, and of its way there and back
}

// TestReadANodeOfTheLab is what BenchmarkNodeBytes runs inside the lab, where its
// nodes can be reached.
func TestReadANodeOfTheLab(t *testing.T) {
	name := os.Getenv("CERTROT_BENCH_NODE")
	if name == "" {
		t.Skip("run by another test: BenchmarkNodeBytes")
	}
	way := &nodeexec.SSH{Config: os.Getenv("CERTROT_BENCH_SSH")}
	node, err := way.Dial(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	r := &recorder{Node: node}
	result, err := gather.Read(t.Context(), r, pki.NewScanner(), gather.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = json.NewEncoder(os.Stdout).Encode(reading{len(r.out), len(result.Files), len(result.Gaps), r.took.Milliseconds()})
	if err != nil {
		t.Fatal(err)
	}
}
