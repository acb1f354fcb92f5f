package action

import (
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/inspecttest"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/remediatetest"
)

// TestTenantsProcessRestartsNothing: a process in another pod than those of the DaemonSet
// neither restarts them nor keeps them from being restarted, whatever it calls itself.
func TestTenantsProcessRestartsNothing(t *testing.T) {
	t.Parallel()
	const node = "worker-0"
	long, since := remediatetest.TestNow.Add(-25*time.Hour), remediatetest.TestNow.Add(-30*time.Second)
	for _, id := range []string{"multus", "machine-config-daemon", "ovnkube-node"} {
		row := remediatetest.RowOf(id)
		for name, c := range map[string]struct {
			pod       time.Time // its start
			processes []inspect.Process
			restarted bool
		}{
			"the platform's alone":                   {since, []inspect.Process{remediatetest.ProcessOf(id, node, since)}, false},
			"a tenant's is older":                    {since, []inspect.Process{remediatetest.ProcessOf(id, node, since), inspecttest.TenantsProcess(row.Command, long)}, false},
			"a tenant's is older, and the only one":  {since, []inspect.Process{inspecttest.TenantsProcess(row.Command, long)}, false},
			"a tenant's is younger":                  {long, []inspect.Process{remediatetest.ProcessOf(id, node, long), inspecttest.TenantsProcess(row.Command, since)}, true},
			"a tenant's is younger, the only one":    {long, []inspect.Process{inspecttest.TenantsProcess(row.Command, since)}, true},
			"the pod of an older one was not read":   {since, []inspect.Process{{Command: row.Command, Started: long}}, false},
			"a pod that the API server did not list": {since, []inspect.Process{inspecttest.Process(row.Command, long)}, false},
			"an older one of the host":               {since, []inspect.Process{{Command: row.Command, Started: long, Host: true}}, false},
		} {
			f := remediatetest.RepairedFixture()
			a := RestartPods{NodeName: node, Row: row, Pods: []inspect.Pod{remediatetest.PodOf(row, node, c.pod)}, CA: f.CaOf()}
			a.RootCA = &inspect.RootCA{Namespace: row.Namespace, CA: f.CaOf(), Written: remediatetest.TestNow.Add(-30 * time.Minute)}
			f.FirstNode().Processes = c.processes
			if change, err := a.Diff(f.Snapshot, remediatetest.TestNow); err != nil || (change != nil) != c.restarted {
				t.Errorf("%s, %s: %+v, %v", id, name, change, err)
			}
		}
	}
}

// TestCostlyChainsShownToOneNodeRestartNothingElsewhere: each node's plan would verify them.
func TestCostlyChainsShownToOneNodeRestartNothingElsewhere(t *testing.T) {
	t.Parallel()
	const node = "worker-0"
	row := remediatetest.RowOf("multus")
	for large, restarted := range map[int]bool{0: true, 100: false} {
		f := remediatetest.RepairedFixture()
		next := pkitest.NewCA("next", remediatetest.TestNow.Add(-10*time.Minute), remediatetest.TestNow.Add(time.Hour))
		leaf := next.Issue(remediatetest.APIIntHost, remediatetest.TestNow.Add(-5*time.Minute), remediatetest.TestNow.Add(time.Hour), pkitest.DNS(remediatetest.APIIntHost))
		f.Embed(node, remediatetest.KubeletFile, f.ConfigMap, f.Before, next.CertPEM)
		for i := range f.FirstNode().Files {
			f.FirstNode().Files[i].Modified = remediatetest.TestNow.Add(-25 * time.Hour)
		}
		other := f.Served[0]
		other.Node, other.Chain = "worker-9", pki.LoadedPEM(f.Sc, leaf.CertPEM)
		for i := range large { // a key that is only said to be large costs nothing here
			one := *pki.LoadedPEM(f.Sc, next.CertPEM)[0]
			one.Fingerprint, one.PublicKey = pki.FingerprintOf([]byte{byte(i)}), "RSA 8192"
			other.Chain = append(other.Chain, &one)
		}
		f.Served = append(f.Served, other)
		since := remediatetest.TestNow.Add(-time.Hour)
		a := RestartPods{NodeName: node, Row: row, Pods: []inspect.Pod{remediatetest.PodOf(row, node, since)}, CA: f.CaOf()}
		a.RootCA = &inspect.RootCA{Namespace: row.Namespace, CA: f.CaOf(), Written: remediatetest.TestNow.Add(-30 * time.Hour)}
		f.FirstNode().Processes = []inspect.Process{remediatetest.ProcessOf("multus", node, since)}
		if change, err := a.Diff(f.Snapshot, remediatetest.TestNow); err != nil || (change != nil) != restarted {
			t.Errorf("%d large keys: %+v, %v", large, change, err)
		}
	}
}

// TestACostlyChainIsNotVerifiedForEachCA: root on a worker chooses both.
func TestACostlyChainIsNotVerifiedForEachCA(t *testing.T) {
	t.Parallel()
	sc, from, until := pki.NewScanner(), remediatetest.TestNow.Add(-time.Hour), remediatetest.TestNow.Add(time.Hour)
	signer := pkitest.NewCA("signer", from, until)
	cas := pki.LoadedPEM(sc, signer.CertPEM)
	for large, want := range map[int]bool{0: true, 100: false} {
		chain := pki.LoadedPEM(sc, signer.Issue("x", from, until, pkitest.DNS("x")).CertPEM)
		for i := range large { // a key that is only said to be large costs nothing here
			one := *cas[0]
			one.Fingerprint, one.PublicKey = pki.FingerprintOf([]byte{byte(i)}), "RSA 8192"
			chain = append(chain, &one)
		}
		if _, known := oldest(chain, cas, "x", remediatetest.TestNow); known != want {
			t.Errorf("%d large keys: verified: %t", large, known)
		}
	}
}
