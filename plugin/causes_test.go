//go:build unix

package plugin_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
)

// TestEachFindingHasOneCause: in JSON, whatever is left out; and the causes are the problems of the screen.
func TestEachFindingHasOneCause(t *testing.T) {
	for _, s := range stories() {
		switch s.name {
		case "demo", "expired", "incident-silent", "unread":
		default:
			continue
		}
		snapshot := s.read(t)
		t.Chdir(t.TempDir())
		f, err := os.Create("a.certrot")
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(collect.WriteSnapshot(f, snapshot), f.Close()); err != nil {
			t.Fatal(err)
		}
		for _, chosen := range []string{"", "--min-severity critical", "--expiring-within 30d", "nodes"} {
			args := append(strings.Fields("inspect "+chosen), "--from", "a.certrot")
			_, raw, _ := certrot(append(args, "-o", "json")...)
			var inv struct {
				Findings []struct{ Severity string }
				Causes   []struct {
					Severity, Title string
					Findings        []int
				}
			}
			if err := json.Unmarshal([]byte(raw), &inv); err != nil {
				t.Fatal(err)
			}
			of := map[int]int{}
			_, screen, _ := screenOf(t, 400, append(args, "--min-severity=info"))
			if chosen == "--min-severity critical" {
				_, screen, _ = screenOf(t, 400, args)
			}
			for _, c := range inv.Causes {
				for _, i := range c.Findings {
					of[i]++
				}
				counted := c.Severity != "critical" && strings.Contains(screen, " more problem") // criticals have their next steps there
				title := strings.TrimPrefix(c.Title, "kubelets have ")                           // of one that is down, the screen says that first
				if !counted && (!strings.Contains(screen, strings.ToUpper(c.Severity)) || !strings.Contains(screen, title) && len(inv.Causes) <= 10) {
					t.Errorf("%s, %s: %q is not on the screen\n%s", s.name, chosen, c.Title, screen)
				}
			}
			for i := range inv.Findings {
				if of[i] != 1 {
					t.Errorf("%s, %s: finding %d is in %d causes", s.name, chosen, i, of[i])
				}
			}
			if len(of) != len(inv.Findings) {
				t.Errorf("%s, %s: causes of %d findings, of which there are %d", s.name, chosen, len(of), len(inv.Findings))
			}
		}
	}
}

// TestTheCauseOfTheDemo is known: of what lacks the CA, and of the kubelet without a certificate; on the screen, and in JSON.
func TestTheCauseOfTheDemo(t *testing.T) {
	const replaced = "api-int changed its CA 3h35m ago; OKD 4.15 does not deliver it"
	_, screen, _ := screenOf(t, 80, []string{"inspect", "--from", demo})
	if strings.Count(screen, "  cause     "+replaced+"\n") != 1 || strings.Count(screen, "\n") > 23 {
		t.Errorf("the cause is not on the screen:\n%s", screen)
	}
	_, raw, _ := certrot("inspect", "--from", demo, "-o", "json")
	var inv struct{ Causes []struct{ ID, Reason string } }
	if err := json.Unmarshal([]byte(raw), &inv); err != nil {
		t.Fatal(err)
	}
	known := map[string]string{"api-int-ca-not-delivered": replaced, "kubelet-client-certificate-missing": "7 CSRs unanswered since 01:17Z; does not trust api-int since 02:55Z"}
	for _, c := range inv.Causes {
		if c.Reason != known[c.ID] {
			t.Errorf("%+v", c)
		}
	}
}

// TestTheFirstScreenOfTheDemoSaysWhatIsDownFirst: as the plan and its status do, with each node that lacks the
// CA, what each critical problem does, and what comes next.
func TestTheFirstScreenOfTheDemoSaysWhatIsDownFirst(t *testing.T) {
	_, screen, _ := screenOf(t, 80, []string{"inspect", "--from", demo})
	rest := screen
	for _, want := range []string{
		"as of 2024-02-10 06:30Z  nodes read: 2 of 2 workers, no control plane\n",
		"✗ CRITICAL  worker-2 is down (no heartbeat for 5h): no client certificate\n", "  cause ", " --nodes worker-2 --approve-csrs ",
		"✗ CRITICAL  kubelets do not trust api-int: worker-1, worker-2 (down)\n", "  cause ", "  impact ", " --nodes worker-1 ",
		"✗ CRITICAL  ValidatingWebhookConfiguration/policy: CA expired 22d ago\n", "  impact ", "  next ",
		"! WARNING   8 CSRs pending, shop/shop-tls expires in 10d +1: --details\n",
	} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("%q is not there, or not in this order:\n%s", want, screen)
		}
		rest = after
	}
	_, screen, _ = screenOf(t, 120, []string{"inspect", "--from", demo, "--details"})
	if want := "still up: worker-1, until it reconnects (2024-02-25 at the latest)"; !strings.Contains(screen, want) {
		t.Errorf("%q is not there:\n%s", want, screen)
	}
}

// TestAllListsAllProblems: whatever the size of a screen.
func TestAllListsAllProblems(t *testing.T) {
	_, screen, _ := screenOf(t, 80, []string{"inspect", "--all", "--from", demo})
	if strings.Contains(screen, "more problem") || strings.Count(screen, "! WARNING ") != 3 || !strings.Contains(screen, "truncated PEM") {
		t.Errorf("not all problems are listed:\n%s", screen)
	}
}

// TestANarrowScreenNamesEachCriticalOfTheDemo.
func TestANarrowScreenNamesEachCriticalOfTheDemo(t *testing.T) {
	_, screen, _ := screenOf(t, 40, []string{"inspect", "--from", demo})
	for _, of := range []string{"worker-1", "worker-2", "policy:"} {
		if !strings.Contains(screen, of) {
			t.Errorf("%s is not on the screen:\n%s", of, screen)
		}
	}
}

// TestEachClaimThatFailsHasOneCause: in JSON, and no claim that passes has one.
func TestEachClaimThatFailsHasOneCause(t *testing.T) {
	_, raw, _ := certrot("verify", "--from", demo, "-o", "json")
	var r struct {
		Claims []struct{ ID, Status, Node string }
		Causes []struct {
			ID, Title, Reason string
			Nodes             []string
			Claims            []int
		}
	}
	if err := json.Unmarshal([]byte(raw), &r); err != nil {
		t.Fatal(err)
	}
	of, reasons := map[int]int{}, 0
	for _, c := range r.Causes {
		for _, i := range c.Claims {
			of[i]++
			if node := r.Claims[i].Node; node != "" && !slices.Contains(c.Nodes, node) {
				t.Errorf("%s does not name %s", c.Title, node)
			}
		}
		if c.Reason == "api-int changed its CA 3h35m ago; OKD 4.15 does not deliver it" && c.ID == "api-int-ca-not-delivered" {
			reasons++
		}
	}
	for i, c := range r.Claims {
		if want := map[string]int{"fail": 1, "warn": 1}[c.Status]; of[i] != want {
			t.Errorf("%s (%s) is in %d causes", c.ID, c.Status, of[i])
		}
	}
	if _, screen, _ := screenOf(t, 80, []string{"verify", "--from", demo}); reasons != 1 || strings.Count(screen, "  cause     ") != 1 || strings.Count(screen, "\n") > 23 {
		t.Errorf("%d causes have their reason:\n%s", reasons, screen)
	}
}

// TestWithoutAProblemInspectPointsToVerify: certificates may be fine where their clients do not trust them. The command
// runs as it stands, and no other screen has it.
func TestWithoutAProblemInspectPointsToVerify(t *testing.T) {
	snapshots := map[string]inspect.Snapshot{}
	for _, s := range stories() {
		if s.name == "well" || s.name == "demo" {
			snapshots[s.name] = s.read(t)
		}
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("ca.pem", pkitest.NewCA("test CA", inspecttest.DaysFromNoon(-1), inspecttest.DaysFromNoon(1000)).CertPEM, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, screen, _ := screenOf(t, 80, []string{"inspect", "--from", "ca.pem"}); strings.Contains(screen, " verify") {
		t.Errorf("a file of no cluster has no clients:\n%s", screen)
	}
	for name, snapshot := range snapshots {
		f, err := os.Create(name + ".certrot")
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(collect.WriteSnapshot(f, snapshot), f.Close()); err != nil {
			t.Fatal(err)
		}
		verify := "verify --from " + name + ".certrot"
		_, screen, _ := screenOf(t, 80, []string{"inspect", "--from", name + ".certrot"})
		_, command, told := strings.Cut(screen[strings.LastIndex(strings.TrimSuffix(screen, "\n"), "\n")+1:], "  next      kubectl certrot ")
		if command, _, _ = strings.Cut(strings.TrimSuffix(command, "\n"), "  ("); told != (name == "well") || told && command != verify {
			t.Errorf("%s: the last line is not %q:\n%s", name, verify, screen)
		}
		if code, _, errOut := certrot(strings.Fields(verify)...); code == cli.ExitUsage {
			t.Errorf("%s: %s", verify, errOut)
		}
	}
}

// TestScreensOfTheDemoSayTheSame: each node that a problem is of, and the command that repairs it, wherever it is told.
func TestScreensOfTheDemoSayTheSame(t *testing.T) {
	const both, approves = "kubelets do not trust api-int: worker-1, worker-2", "fix-api-int --nodes worker-2 --approve-csrs --dry-run=client"
	for _, c := range []struct {
		args  []string
		says  []string
		never string
	}{
		{[]string{"inspect", "secrets"}, []string{both + "\n", " fix-api-int --dry-run=client "}, "--nodes worker-1"},
		{[]string{"explain", both + " (down)"}, []string{"--nodes worker-1 ", "  worker-2: preview ", approves}, ""},
		{[]string{"explain", "/var/lib/kubelet/kubeconfig"}, []string{"--nodes worker-1 --dry-run=client", approves, "more lines:\n  kubectl certrot verify --details "}, "--nodes worker-2 --dry-run"},
		{[]string{"verify", "restart-safe"}, []string{"  reason    no valid client certificate, and /etc/kubernetes/kubeconfig: x509:\n", "it can't rejoin\n", approves}, "it has to rejoin"},
		{[]string{"rotate", "--list"}, []string{approves}, ""},
		{[]string{"rotate", "aggregator-client-signer", "--dry-run=client"}, []string{approves}, ""},
		{[]string{"inspect", "csr"}, []string{"worker-2 does not trust api-int: an approval alone does not help;", approves}, "waits for it"},
	} {
		_, out, errOut := screenOf(t, 80, append(c.args, "--from", demo))
		for _, want := range c.says {
			if !strings.Contains(out+errOut, want) {
				t.Errorf("%q: %q is not there:\n%s%s", c.args, want, out, errOut)
			}
		}
		if c.never != "" && strings.Contains(out, c.never) {
			t.Errorf("%q: %q is there:\n%s", c.args, c.never, out)
		}
	}
}

// TestATallTerminalHasAllOfAPlan.
func TestATallTerminalHasAllOfAPlan(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	for lines, want := range map[string]bool{"24": false, "50": true} {
		t.Setenv("LINES", lines)
		_, out, _ := certrot("fix-api-int", "--dry-run=client", "--from", demo)
		if strings.Contains(out, "\n  details   ") != want || !strings.Contains(out, "on the live cluster and its control plane") {
			t.Errorf("%s lines:\n%s", lines, out)
		}
	}
}
