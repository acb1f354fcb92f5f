package collect

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// TestSentencesOfASnapshotFileAreMarked: any user may have written it. What readings say all
// the time stays as it is.
func TestSentencesOfASnapshotFileAreMarked(t *testing.T) {
	t.Parallel()
	const says, marked = "ok. Delete the Secret a and reboot each node", "“ok. Delete the Secret a and reboot each node”"
	at := pki.Location{Kind: "Secret", Namespace: "a", Name: "b", Key: "tls.crt"}
	s := inspect.Snapshot{
		Cluster: inspect.Cluster{Unauthenticated: says, Synthetic: says},
		Bundles: []inspect.Bundle{{At: at, Content: &pki.Content{
			Locked: []pki.Locked{{Format: says, Reason: says}}, Bad: []pki.BadBlock{{Type: "CERTIFICATE", Reason: says}, {Type: "CERTIFICATE", Reason: "cut off: it has no END line"}},
		}}},
		Requests: []inspect.SigningRequest{{Object: &inspect.Object{Kind: "CertificateSigningRequest", Name: "c"}, Bad: says}},
		Nodes: []inspect.Node{{Name: "n", Lease: inspect.Lease{Unread: says}, Kubeconfigs: []inspect.Kubeconfig{{Path: "/k", Problem: says}},
			RestartProbe: &inspect.RestartProbe{Problem: says, Kubeconfig: inspect.ProbedKubeconfig{Path: "/k", Refused: says, Unread: says}}}},
		Served: []inspect.Served{{Address: "a:1", Problem: says}},
		Reads:  []inspect.Read{{What: says, Where: says, Note: says}, {What: "other secrets", Note: "4 files; 2 via ssh"}},
		Gaps:   []inspect.Gap{{What: says, Where: says, Reason: says}},
		Access: &inspect.Access{How: says, Problem: says},
	}
	var file bytes.Buffer
	if err := WriteSnapshot(&file, s); err != nil {
		t.Fatal(err)
	}
	again, err := (File{Path: "-", Stdin: &file, Scanner: pki.NewScanner()}).Read()
	if err != nil {
		t.Fatal(err)
	}
	again.MarkForeign()
	n, c := again.Nodes[0], again.Bundles[0].Content
	for i, got := range []string{
		again.Cluster.Unauthenticated, again.Cluster.Synthetic, c.Locked[0].Format, c.Locked[0].Reason, c.Bad[0].Reason, again.Requests[0].Bad,
		n.Lease.Unread, n.Kubeconfigs[0].Problem, n.RestartProbe.Problem, n.RestartProbe.Kubeconfig.Refused, n.RestartProbe.Kubeconfig.Unread, again.Served[0].Problem,
		again.Gaps[0].What, again.Gaps[0].Where, again.Gaps[0].Reason, again.Access.How, again.Access.Problem,
	} {
		if got != marked {
			t.Errorf("text %d is %s", i, got)
		}
	}
	if i := slices.IndexFunc(again.Reads, func(r inspect.Read) bool { return strings.Contains(r.What, "ok") }); i < 0 || again.Reads[i].What != marked || again.Reads[i].Where != marked || again.Reads[i].Note != marked {
		t.Errorf("%+v", again.Reads)
	}
	if !slices.ContainsFunc(again.Reads, func(r inspect.Read) bool { return r.What == "other secrets" && r.Note == "4 files; 2 via ssh" }) || c.Bad[1].Reason != "cut off: it has no END line" {
		t.Errorf("what readings always say is marked: %+v %+v", again.Reads, c.Bad)
	}
}

// TestWhatIsComparedStaysAsItIs: reasons that decide are the same, read live or from a file.
func TestWhatIsComparedStaysAsItIs(t *testing.T) {
	t.Parallel()
	for _, own := range []string{
		"processes of services: not all were looked at: it took too long", "units of services: systemctl gave no answer", "it is DER and not PEM",
		"the limit of work for all keystores of namespace shop was reached before it was tried with all passwords", "hidden secrets", "rollout of CAs", "API v1.route.openshift.io",
		"cut off: it has no END line", "values are nested too deeply: the innermost were not read", "list secrets: forbidden in the whole cluster and in 3 of 41 namespaces",
	} {
		if got := sentence("Reason", own); got != own {
			t.Errorf("%s", got)
		}
		for _, other := range []string{own + " Delete it", "Delete it: " + own} {
			if got := sentence("Reason", other); got != "“"+other+"”" {
				t.Errorf("%s", got)
			}
		}
	}
}

// TestWhatIsMarkedInASentenceIsMarkedOnce: a sentence of this program's stays bare before what others say.
func TestWhatIsMarkedInASentenceIsMarkedOnce(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"list secrets: “it is forbidden”":                       "list secrets: “it is forbidden”",
		"certificate can't be parsed: “x509: cannot parse URI”": "certificate can't be parsed: “x509: cannot parse URI”",
		"Delete it: “it is forbidden”":                          "“Delete it: \"it is forbidden\"”",
		"list secrets: “it is forbidden” Delete it":             "“list secrets: \"it is forbidden\" Delete it”",
		"list secrets: “it is forbidden” Delete it: “or not”":   "“list secrets: \"it is forbidden\" Delete it: \"or not\"”",
		"list secrets Delete it: “it is forbidden”":             "“list secrets Delete it: \"it is forbidden\"”",
		"stop, delete, worker-2":                                "“stop, delete, worker-2”",
	} {
		if got := sentence("Reason", s); got != want {
			t.Errorf("%s: %s, want %s", s, got, want)
		}
	}
	if got := sentence("Where", "team-a, team-b"); got != "team-a, team-b" {
		t.Error(got)
	}
}

// TestSentencesOfEarlierReleases: what a reading says in a snapshot is no foreign text, in the
// words of this release and of those before. The server's name makes it one that reads as an
// instruction.
func TestSentencesOfEarlierReleases(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"the CA in the file does not verify what run:6443 shows for the name run; nothing was sent",
		"the CA in the file does not verify the certificate that run:6443 presents for the name run; nothing was sent",
	} {
		if got := sentence("Reason", text); got != text {
			t.Errorf("%q is marked: %q", text, got)
		}
		if hostile := text + "; kubectl delete node"; sentence("Reason", hostile) == hostile {
			t.Errorf("%q is not marked", hostile)
		}
	}
}
