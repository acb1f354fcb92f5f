package rotatecmd

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/verifycmd"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/rotate"
)

const followed = "aggregator-client-signer"

// turning is a cluster in which a signer is made anew; what happens in it has a time, in
// seconds after the begin.
type turning struct {
	sc       *pki.Scanner
	began    time.Time
	old      *pkitest.Authority
	signers  map[int]*pkitest.Authority // by when each comes
	bundles  int                        // when the last signer is in all bundles, and with all who verify
	leaf     int                        // when it has signed
	unread   func(after int) bool       // whether who verifies can't be read
	mute     func(after int) bool       // whether what it signs can't be read
	down     func(after int) bool       // whether nothing can be read
	blind    bool                       // bundles can't be read
	hold     time.Duration              // how long reading takes
	reads    int
	followed *following
	leaves   map[*pkitest.Authority][]byte
}

// read is what is read now.
func (c *turning) read(context.Context) (rotations, error) {
	time.Sleep(c.hold)
	c.reads++
	now := collect.Taken()
	after := int(now.Sub(c.began).Seconds())
	if c.down != nil && c.down(after) {
		return rotations{}, errors.New("the API server is not there")
	}
	i := slices.IndexFunc(catalog.Rotations(), func(r catalog.Rotation) bool { return r.Signer.Name == followed })
	row := catalog.Rotations()[i]
	s := inspect.Snapshot{Taken: now, Cluster: inspect.Cluster{Versions: catalog.Versions{Cluster: "4.16.3"}}}
	put := func(at catalog.Ref, pem ...[]byte) {
		for _, f := range c.sc.Scan(pkitest.Bundle(pem...)) {
			first := f.Content.Certs[0]
			s.Bundles = append(s.Bundles, inspect.Bundle{At: pki.Location{Kind: pki.Kind(at.Kind), Namespace: at.Namespace, Name: at.Name, Key: at.Key}, Content: f.Content,
				Object: &inspect.Object{Kind: pki.Kind(at.Kind), Namespace: at.Namespace, Name: at.Name, Type: "kubernetes.io/tls", Annotations: map[string]string{
					catalog.AnnotationNotBefore: first.NotBefore.Format(time.RFC3339), catalog.AnnotationNotAfter: first.NotAfter.Format(time.RFC3339)}}})
		}
	}
	signer, bundle := c.old, [][]byte{c.old.CertPEM}
	for _, at := range slices.Sorted(maps.Keys(c.signers)) {
		if at > after {
			break
		}
		if signer = c.signers[at]; after >= c.bundles {
			bundle = append(bundle, signer.CertPEM)
		}
	}
	put(row.Signer, signer.CertPEM)
	places := []catalog.Ref{row.Bundle}
	for _, a := range catalog.Carriers(row.Bundle, s.Cluster.Versions) {
		if a.Carries == (catalog.Carries{}) {
			places = append(places, a.Target)
		}
	}
	if c.unread == nil || !c.unread(after) {
		places = append(places, catalog.Ref{Kind: catalog.ConfigMap, Namespace: "kube-system", Name: "extension-apiserver-authentication", Key: "requestheader-client-ca-file"})
	}
	for _, at := range places {
		if !c.blind {
			put(at, bundle...)
		}
	}
	by, made := c.old, c.began.AddDate(0, 0, -5)
	if after >= c.leaf {
		by, made = signer, c.began
	}
	if c.leaves[by] == nil {
		c.leaves[by] = by.Issue("leaf", made, made.AddDate(0, 0, 30)).CertPEM
	}
	if c.mute == nil || !c.mute(after) {
		put(row.Targets[0], c.leaves[by])
	}
	s.Sort()
	r := rotations{facts: inspect.NewFacts(s, now, 0), since: c.followed.signer}
	r.claims, r.all = trust.Judge(r.facts), rotate.Rotatables(r.facts)
	return r, nil
}

// turn begins: one signer after 5 s, in all bundles after 30 s, which signs nothing.
func turn(f *rotateFlags) *turning {
	began := collect.Taken()
	c := &turning{sc: pki.NewScanner(), began: began, bundles: 30, leaf: 1 << 30, hold: time.Second, leaves: map[*pkitest.Authority][]byte{}}
	c.old = pkitest.NewCA("old", began.AddDate(0, -1, 0), began.AddDate(1, 0, 0))
	c.signers = map[int]*pkitest.Authority{5: c.signer("new", 5)}
	at := catalog.Ref{Kind: catalog.Secret, Namespace: "openshift-kube-apiserver-operator", Name: followed, Key: "tls.crt"}
	i := slices.IndexFunc(catalog.Rotations(), func(r catalog.Rotation) bool { return r.Signer == at })
	of := rotate.Rotatable{At: at, Name: followed, Rotation: catalog.Rotations()[i]}
	c.followed = f.following(nil, of, c.sc.Scan(c.old.CertPEM)[0].Content.Certs[0])
	c.followed.read = c.read
	return c
}

func (c *turning) signer(name string, after int) *pkitest.Authority {
	return pkitest.NewCA(name, c.began.Add(time.Duration(after)*time.Second), c.began.AddDate(1, 0, 0), pkitest.KeyName(name))
}

func flagsForTest() (*rotateFlags, *bytes.Buffer) {
	var out bytes.Buffer
	f := &rotateFlags{seen: verifycmd.Flags{App: cli.App{Called: "certrot", Streams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}}}, wait: 4 * time.Minute, line: "certrot rotate --leaf"}
	return f, &out
}

// TestFollowing waits for the signer that stays, by a clock of its own.
func TestFollowing(t *testing.T) {
	for _, c := range []struct {
		title string
		but   func(*turning)
		wait  time.Duration
		ok    bool
		took  time.Duration // at least, and a minute more at most
	}{
		{"it stays for two minutes", func(*turning) {}, 10 * time.Minute, true, 125 * time.Second},
		{"a second one takes its place", func(c *turning) { c.signers[100] = c.signer("newer", 100) }, 10 * time.Minute, true, 220 * time.Second},
		{"bundles are late", func(c *turning) { c.bundles = 200 }, 10 * time.Minute, true, 200 * time.Second},
		{"the API server is away for a while", func(c *turning) { c.down = func(after int) bool { return after > 20 && after < 240 } }, 10 * time.Minute, true, 240 * time.Second},
		{"nobody makes it", func(c *turning) { c.signers = nil }, 2 * time.Minute, false, 2 * time.Minute},
		{"the time is over", func(*turning) {}, time.Minute, false, time.Minute},
	} {
		t.Run(c.title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, out := flagsForTest()
				world := turn(f)
				c.but(world)
				_, ok, err := world.followed.until(t.Context(), c.wait, func(p rotation, stages []rotate.Stage) bool { return through(p, stages) })
				took := time.Since(world.began)
				if err != nil || ok != c.ok || took < c.took || took > c.took+time.Minute {
					t.Errorf("through %t after %s, %v; want %t after %s:\n%s", ok, took, err, c.ok, c.took, out)
				}
				if limit := int(took/verifycmd.AskAgain) + 2; world.reads > limit {
					t.Errorf("it was read %d times in %s", world.reads, took)
				}
			})
		})
	}
}

// TestFollowingTellsTimes: each stage has the time at which it was first seen reached, and
// one that is not reached any more has none.
func TestFollowingTellsTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := flagsForTest()
		world := turn(f)
		p, _, err := world.followed.until(t.Context(), f.wait, through)
		if err != nil {
			t.Fatal(err)
		}
		seconds := map[string]int{}
		for name, took := range world.followed.took {
			seconds[name] = int(took.Seconds())
		}
		for name, from := range map[string]int{rotate.StageSigner: 125, rotate.StageAggregates: 30, rotate.StageTrust: 30} {
			if got := seconds[name]; got < from || got > from+20 {
				t.Errorf("%s after %d s, want from %d on", name, got, from)
			}
		}
		if times := world.followed.times(p.stages()); !strings.Contains(times, "signer 2m") || strings.Contains(times, "leaf") {
			t.Errorf("said as %q", times)
		}
	})
}

// TestNextLeaf: nothing is signed anew before everybody is seen to trust the signer.
func TestNextLeaf(t *testing.T) {
	for _, c := range []struct {
		title string
		but   func(*turning)
		leaf  bool
		took  time.Duration // at least, and a minute more at most
		code  int
		says  string
	}{
		{"everybody trusts it in time", func(*turning) {}, true, 125 * time.Second, cli.ExitFine, "waiting, before aggregator-client is signed anew"},
		{"it was signed by itself meanwhile", func(c *turning) { c.leaf = 60 }, false, 125 * time.Second, cli.ExitFine, ""},
		{"bundles never get it", func(c *turning) { c.bundles = 1 << 30 }, false, 4 * time.Minute, cli.ExitFindings, "not signed anew yet"},
		{"who verifies can't be read at all", func(c *turning) { c.unread = func(int) bool { return true } }, false, 125 * time.Second, cli.ExitIncomplete, "trust anchors were not read"},
		{"who verifies can't be read once", func(c *turning) {
			c.unread = func(after int) bool { return after > 120 && after < 135 }
		}, true, 135 * time.Second, cli.ExitFine, ""},
	} {
		t.Run(c.title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, out := flagsForTest()
				world := turn(f)
				c.but(world)
				leaf, err := f.nextLeaf(t.Context(), world.followed)
				took := time.Since(world.began)
				if err != nil {
					out.WriteString(err.Error())
				}
				if (leaf != nil) != c.leaf || cli.CodeOf(err) != c.code || took < c.took || took > c.took+time.Minute || !strings.Contains(out.String(), c.says) {
					t.Errorf("leaf %t after %s, code %d: want %t after %s, %d and %q:\n%s", leaf != nil, took, cli.CodeOf(err), c.leaf, c.took, c.code, c.says, out)
				}
			})
		})
	}
}

// TestRefusedHalfWay: once something was done, nothing may say that nothing was.
func TestRefusedHalfWay(t *testing.T) {
	t.Parallel()
	refusal := apply.Stopped([]preflight.Verdict{{Name: "nodes-ready", Reason: "not Ready: worker-0", Next: "look at worker-0"}})
	gone := errors.New("connection refused")
	for _, c := range []struct {
		title    string
		err      error
		code     int // nothing was done before
		halfWay  int // something was
		says     string
		nextStep string
	}{
		{"a check that does not hold", refusal, cli.ExitRefused, cli.ExitStopped, "worker-0", "look at worker-0"},
		{"a read that failed", cli.NothingChanged(gone), cli.ExitUsage, cli.ExitStopped, "connection refused", ""},
		{"an API that did not answer", cli.WithHint(gone, "is it there?"), cli.ExitUsage, cli.ExitStopped, "connection refused", "is it there?"},
		{"somebody else wrote it", &cli.ExitError{Code: cli.ExitStopped, Err: cli.WithHint(cli.NothingChanged(remediate.ErrChanged), "look at it")}, cli.ExitStopped, cli.ExitStopped, "", "look at it"},
		{"something that is not read", &cli.ExitError{Code: cli.ExitIncomplete}, cli.ExitIncomplete, cli.ExitIncomplete, "", ""},
		{"nothing", nil, cli.ExitFine, cli.ExitFine, "", ""},
	} {
		if err := partly(c.err, false); !errors.Is(err, c.err) || cli.CodeOf(err) != c.code {
			t.Errorf("%s, and nothing was done: %d: %v", c.title, cli.CodeOf(err), err)
		}
		err := partly(c.err, true)
		text, next := "", ""
		if err != nil {
			text = err.Error()
		}
		var h *cli.HintError
		if errors.As(err, &h) {
			next = h.Hint
		}
		if cli.CodeOf(err) != c.halfWay || strings.Contains(text, "nothing was changed") || !strings.Contains(text, c.says) || next != c.nextStep {
			t.Errorf("%s, and something was done: %d, want %d: %v; next: %q", c.title, cli.CodeOf(err), c.halfWay, err, next)
		}
	}
}

// TestInTurn: the first failure stops, what was done before it is not denied, and the line
// that goes on names those that were not begun.
func TestInTurn(t *testing.T) {
	t.Parallel()
	a, b := rotation{of: rotate.Rotatable{Name: "a"}}, rotation{of: rotate.Rotatable{Name: "b"}}
	refusal := apply.Stopped([]preflight.Verdict{{Name: "nodes-ready", Reason: "not Ready: worker-0", Next: "look at worker-0"}})
	for _, c := range []struct {
		title string
		ends  map[string]error
		asked string
		code  int
		says  string
	}{
		{"all is well", nil, "a b", cli.ExitFine, ""},
		{"the first is refused", map[string]error{"a": refusal}, "a", cli.ExitRefused, "nothing was changed"},
		{"the second is refused", map[string]error{"b": refusal}, "a b", cli.ExitStopped, "stopped half-way: "},
		{"the second can't be read", map[string]error{"b": errors.New("connection refused")}, "a b", cli.ExitStopped, "stopped half-way: connection refused; done: a; not begun: b"},
		{"the first is not known to be in all bundles", map[string]error{"a": &cli.ExitError{Code: cli.ExitIncomplete, Err: errors.New("not read")}}, "a", cli.ExitIncomplete, "not read"},
		{"the first is done as far as it is known", map[string]error{"a": &cli.ExitError{Code: cli.ExitIncomplete}}, "a b", cli.ExitIncomplete, ""},
	} {
		f, _ := flagsForTest()
		asked := ""
		err := f.inTurn([]rotation{a, b}, func(p rotation, later, last bool) (bool, error) {
			asked += " " + p.of.Name
			if later != (p.of.Name == "b") || last != (p.of.Name == "b") {
				t.Errorf("%s: %s is later %t and last %t", c.title, p.of.Name, later, last)
			}
			err := c.ends[p.of.Name]
			return err == nil, err
		})
		text := ""
		if err != nil {
			text = err.Error()
		}
		var h *cli.HintError
		if strings.TrimSpace(asked) != c.asked || cli.CodeOf(err) != c.code || !strings.Contains(text, c.says) || c.says != "" && (!errors.As(err, &h) || !strings.HasSuffix(h.Hint, " b")) {
			t.Errorf("%s: asked %q, code %d, want %q, %d and %q: %v", c.title, asked, cli.CodeOf(err), c.asked, c.code, c.says, err)
		}
	}
}

// TestSettle: the next one is begun only when the one before is seen to be in all bundles.
func TestSettle(t *testing.T) {
	for _, c := range []struct {
		title string
		but   func(*turning)
		code  int
		says  string
	}{
		{"it comes", func(*turning) {}, cli.ExitFine, ""},
		{"it does not", func(c *turning) { c.bundles = 1 << 30 }, cli.ExitFindings, "exit code 1"},
		{"its bundle can't be read", func(c *turning) { c.blind = true }, cli.ExitIncomplete, "whether it is in all bundles could not be read"},
	} {
		t.Run(c.title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, out := flagsForTest()
				world := turn(f)
				c.but(world)
				err := f.settle(t.Context(), world.followed)
				if cli.CodeOf(err) != c.code || err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("code %d, want %d and %q: %v\n%s", cli.CodeOf(err), c.code, c.says, err, out)
				}
			})
		})
	}
}

// TestEachLeaf: an API server that is rolled out by what was done before ends nothing, and
// one that stays away is no refusal.
func TestEachLeaf(t *testing.T) {
	gone := errors.New("connection refused")
	for _, c := range []struct {
		title string
		fails int // attempts
		with  error
		tries int
		code  int
	}{
		{"it is there", 0, nil, 1, cli.ExitFine},
		{"it is away for a moment", 2, cli.NothingChanged(gone), 3, cli.ExitFine},
		{"it stays away", 99, cli.NothingChanged(gone), 3, cli.ExitStopped},
		{"it refuses", 99, apply.Refused(&remediate.Refusal{Name: "rbac", Reason: "forbidden"}), 1, cli.ExitStopped},
	} {
		t.Run(c.title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, out := flagsForTest()
				world := turn(f)
				tries := 0
				err := f.eachLeaf(t.Context(), world.followed, true, func(rotation) (bool, error) {
					if tries++; tries <= c.fails {
						return false, c.with
					}
					world.leaf = 0 // it is signed
					return true, nil
				})
				if unserved := cli.CodeOf(err) == cli.ExitIncomplete && strings.Contains(out.String(), "✓ leaf"); unserved { // nobody asked servers
					err = nil
				}
				if tries != c.tries || cli.CodeOf(err) != c.code || err != nil && strings.Contains(err.Error(), "nothing was changed") {
					t.Errorf("tried %d times, code %d, want %d and %d: %v\n%s", tries, cli.CodeOf(err), c.tries, c.code, err, out)
				}
			})
		})
	}
}

// TestAwaitChecks: that the API server is away for a moment, since what was done before has
// it rolled out, ends nothing.
func TestAwaitChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, out := flagsForTest()
		world := turn(f)
		world.signers = nil
		world.down = func(after int) bool { return after < 60 }
		world.followed.since, world.followed.signer, world.followed.begun = nil, nil, false
		var p rotation
		if err := f.awaitChecks(t.Context(), world.followed, &p); err != nil || p.facts == nil || time.Since(world.began) < time.Minute {
			t.Errorf("after %s: %v\n%s", time.Since(world.began), err, out)
		}
	})
}

// TestResumedInTheRollout: the same line goes on while the cluster is still busy with what
// it did before it was interrupted, and is refused where nothing was done yet.
func TestResumedInTheRollout(t *testing.T) {
	progressing := func(m *inspect.ControlPlaneStatus) { m.Operators[0].Progressing = "True" }
	for _, c := range []struct {
		title   string
		made    bool // the signer
		resumed bool // one before it was
		but     func(*inspect.ControlPlaneStatus)
		awaited string // of what comes first; empty: refused
	}{
		{"operators at work", true, false, progressing, "operators-settled"},
		{"a rollout", true, false, func(m *inspect.ControlPlaneStatus) { m.StaticPods[0].Masters[0].Target = 8 }, "static-pods-settled"},
		{"a pool at work", true, false, func(m *inspect.ControlPlaneStatus) { m.Pools[0].Wanted = "rendered-2" }, "pools-ready"},
		{"a kubelet that starts", true, false, func(m *inspect.ControlPlaneStatus) { m.Nodes[1].Ready = "False" }, "nodes-ready"},
		{"an operator that says nothing", true, false, func(m *inspect.ControlPlaneStatus) { m.Operators[0].Progressing = "" }, ""},
		{"an upgrade", true, false, func(m *inspect.ControlPlaneStatus) { m.Update.Progressing = "True" }, ""},
		{"nothing was done yet", false, false, progressing, ""},
		{"one before it was", false, true, progressing, "operators-settled"},
	} {
		t.Run(c.title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, _ := flagsForTest()
				f.leaf = true
				world := turn(f)
				if !c.made {
					world.signers = nil
				}
				time.Sleep(200 * time.Second)
				r, err := world.read(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				r.machinery = &inspect.ControlPlaneStatus{
					Update:     inspect.Update{Progressing: "False"},
					Operators:  []inspect.OperatorState{{Name: "kube-apiserver", Available: "True", Progressing: "False", Degraded: "False"}},
					StaticPods: []inspect.StaticPods{{Resource: "kubeapiservers", Latest: 7, Masters: []inspect.StaticPodState{{Node: "master-0", Current: 7}}}},
					Pools:      []inspect.Pool{{Name: "worker", Current: "rendered-1", Wanted: "rendered-1", Machines: 1, Updated: 1, Updating: "False", Degraded: "False"}},
					Nodes:      []inspect.NodeState{{Name: "master-0", Ready: "True", Master: true, Lease: inspect.Lease{Advanced: true}}, {Name: "worker-0", Ready: "True", Lease: inspect.Lease{Advanced: true}}},
				}
				c.but(r.machinery)
				p := rotation{rotations: r}
				if p.of, err = r.find(f.seen.App, followed); err != nil {
					t.Fatal(err)
				}
				err = f.judgeAll(&p, c.resumed)
				if c.awaited == "" {
					if cli.CodeOf(err) != cli.ExitRefused {
						t.Errorf("not refused: %v", err)
					}
					return
				}
				if err != nil || p.itself() == c.made {
					t.Fatalf("itself %t: %v", p.itself(), err)
				}
				first := p
				if c.made {
					first = p.leaves[0]
				}
				note := func(text string) bool {
					return strings.HasPrefix(text, "Waited for, before "+first.of.Name) && strings.Contains(text, ": "+c.awaited+": ")
				}
				if strings.Join(first.awaited, " ") != c.awaited || !slices.ContainsFunc(p.notes(), note) {
					t.Errorf("waits for %q, want %q: %q", first.awaited, c.awaited, p.notes())
				}
			})
		})
	}
}

// TestASettlingLeafIsWaitedFor: what follows by itself days later is not waited for, and
// csr-signer is, until it is seen which one stays.
func TestASettlingLeafIsWaitedFor(t *testing.T) {
	t.Parallel()
	p := planned(t, "4.20.1", "csr-signer-signer", nil)
	leaf := rotate.Stage{Name: rotate.StageLeaf, Reached: catalog.No}
	stages := func(leaf rotate.Stage) []rotate.Stage {
		return []rotate.Stage{{Name: rotate.StageSigner, Reached: catalog.Yes}, leaf, {Name: rotate.StageServed, Reached: catalog.Unknown}}
	}
	if !through(p, stages(leaf)) {
		t.Error("what follows by itself is waited for")
	}
	leaf.Settling = true
	if through(p, stages(leaf)) {
		t.Error("a csr-signer in whose place another one may come is not waited for")
	}
}
