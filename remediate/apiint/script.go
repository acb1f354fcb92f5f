package apiint

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the script for a person on a node
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/host"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

//go:embed script.sh
var scriptText string

// Script is the repair of a node as a shell script, for a person at its console or
// in ssh: it needs no certrot, no oc and no API server. It holds the CA, and neither
// keys nor tokens.
type Script struct {
	Node, Run string
	Setup     catalog.KubeletSetup // of the kubelet, with its kubeconfigs
	// SHA256 are those of Setup.Files when the node was read; zero: it was not.
	SHA256  []pki.Fingerprint
	CA      []byte   // PEM, verbatim
	From    string   // where the CA is from, for people
	Notes   []string // what people are to know of the cluster and of the node
	Created time.Time
	// Idle: the node was read, and needs nothing.
	Idle bool
}

// Name is the script's file name, such as "fix-api-int-worker-1.sh".
func (s Script) Name() string { return "fix-api-int-" + s.Node + ".sh" }

// ScriptSet are the scripts of nodes.
type ScriptSet struct {
	Scripts []Script
	Notes   remediate.Notes // what people are to know of them
	// LeftOut are workers without a script, and why: where the set is for all nodes.
	LeftOut []*remediate.Refusal
}

// Scripts makes a script for each node. A
// node that was read is held against everything that Plan checks; of others only
// the script itself can, on the node. The error is a *Refusal where it must not be
// done. whole: Nodes are all that there are, so that a worker stops no other node.
func (a Repair) Scripts(run string, snapshot inspect.Snapshot, now time.Time, whole bool) (set ScriptSet, err error) {
	if err := a.supported(snapshot.Cluster); err != nil {
		return set, err
	}
	ca, err := a.certificates(snapshot.Cluster.Versions, now)
	if err != nil {
		return set, err
	}
	a.trusted = ca
	d := remediate.NewDraft(run, snapshot, now)
	a.before = d.Before
	a.owner(d)
	if plain := pki.EncodePEM(ca); !a.Published && !bytes.Equal(dense(a.CA), dense(plain)) {
		a.CA = plain
		d.Note("%s holds more than certificates in plain PEM; only those are written.", a.CASource)
	}
	if err := a.embeddable(snapshot.Hints); err != nil {
		return set, err
	}
	if i := slices.IndexFunc(a.Nodes, func(name string) bool { return !nodeNamed(name) }); i >= 0 {
		return set, fmt.Errorf("node %q: a node's name has lower-case letters, digits, - and . only", a.Nodes[i])
	}
	proven := a.provenTogether(run, snapshot, now)
	for _, name := range a.Nodes {
		s, notes, err := a.script(run, snapshot, now, name, proven[name])
		if r := a.scriptApart(d, s, err); whole && r != nil {
			set.LeftOut = append(set.LeftOut, r)
			continue
		}
		if err != nil {
			return ScriptSet{}, err
		}
		d.Plan.Notes.Add(notes...)
		set.Scripts = append(set.Scripts, s)
	}
	set.Notes = d.Plan.Notes
	return set, nil
}

// script makes the script of a node, and says what people are to know of it. After an error it has but its name. p is
// its plan, where that is proven already.
func (a Repair) script(run string, snapshot inspect.Snapshot, now time.Time, name string, p *remediate.Plan) (Script, remediate.Notes, error) {
	n, ok := snapshot.Node(name)
	setup := unreadSetup(snapshot)
	if ok && n.Via != "" {
		setup = inspect.KubeletSetupOf(snapshot, n)
	}
	files := setup.Kubeconfigs()
	s := Script{Node: name, Run: run, Setup: setup, SHA256: make([]pki.Fingerprint, len(files)), CA: a.CA, From: a.CASource, Created: now}
	of := remediate.NewDraft(run, snapshot, now)
	a.owner(of)
	if !ok || n.Via == "" {
		of.Note("%s was not read (%s): its script is for kubeconfigs where %s has them, %s, whatever they hold.", name, remediate.UnreadNode(snapshot, name).Reason, setup.Name, strings.Join(files, " and "))
	} else {
		if p == nil {
			var err error
			if p, err = a.forScript(name).Plan(run, snapshot, now); err != nil {
				return Script{Node: name}, nil, err
			}
		}
		of.Plan.Notes = p.Notes
		if s.Idle = p.Empty(); s.Idle {
			of.Note("%s needs nothing now: its script says so.", name)
		}
		for i, path := range files {
			if f := n.File(path); f != nil {
				s.SHA256[i] = f.SHA256
			}
		}
	}
	s.Notes = of.Plan.Notes.Texts()
	return s, of.Plan.Notes, nil
}

// forScript is the repair of a node by its script, which asks no API, approves nothing, and does not look at the
// other nodes.
func (a Repair) forScript(name string) Repair {
	a.Nodes, a.API, a.ApproveCSRs, a.scripted = []string{name}, true, false, true
	return a
}

// provenTogether are the plans of scripts that bring no new problem and break no trust edge, by node; of the others
// each is to be proven by itself. To judge the cluster after each script is costly, so it is judged after all of them.
// Workers with whose files a new problem comes, or a trust edge breaks, are set apart; where it is not by them, no
// script is proven by others.
func (a Repair) provenTogether(run string, snapshot inspect.Snapshot, now time.Time) map[string]*remediate.Plan {
	a.unproven, a.apart = true, map[string]*remediate.Refusal{}
	plans := map[string]*remediate.Plan{}
	for _, name := range a.Nodes {
		if n, ok := snapshot.Node(name); !ok || n.Via == "" {
			continue
		}
		if p, err := a.forScript(name).Plan(run, snapshot, now); err == nil { // else its script says why
			plans[name] = p
		}
	}
	for {
		d := remediate.NewDraft(run, snapshot, now)
		d.Before = a.before
		for _, name := range a.Nodes {
			if plans[name] != nil {
				d.AddPlan(plans[name])
			}
		}
		p := d.Finish()
		if p.Proven() == nil {
			return plans
		}
		if !a.setApart(p) {
			return nil
		}
		for name := range a.apart {
			delete(plans, name)
		}
	}
}

// scriptApart is why a worker has no script in a set for all nodes: what the plan refuses of it alone, its own
// word, or its clock. nil: it has one, or what is wrong stops all.
func (a Repair) scriptApart(d *remediate.Draft, s Script, err error) *remediate.Refusal {
	n, ok := d.Snapshot.Node(s.Node)
	if !ok || n.Role != catalog.RoleWorker {
		return nil
	}
	var r *remediate.Refusal
	switch {
	case errors.As(err, &r) && r.Node == s.Node && (r.Name != verifiesServed || a.presentedApart(d, s.Node)):
		return r
	case err != nil || s.Idle:
		return nil
	}
	if i := slices.IndexFunc(a.Busy, func(r *remediate.Refusal) bool { return r.Node == s.Node }); i >= 0 {
		return a.Busy[i]
	}
	if n.Via == "" || slices.Contains(a.Order.Accept, preflight.Clocks) {
		return nil // the script judges by that clock
	}
	return clockApart(d.Plan.Basis, s.Node)
}

// unreadSetup is how the kubelet of a node that was not read is set up, as far as the
// others tell: as kubeadm does it where all of those are, else as OpenShift does.
func unreadSetup(snapshot inspect.Snapshot) catalog.KubeletSetup {
	rows := catalog.KubeletSetups(snapshot.Cluster.Versions)
	if inspect.HasOperators(snapshot) {
		return rows[0]
	}
	return rows[len(rows)-1] // OpenShift's come first
}

// nodeNamed reports whether this may be a node's name (kubernetes: DNS subdomains).
func nodeNamed(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	return name != "" && len(name) <= 253 && strings.Trim(name, letters+"-.") == "" && strings.Trim(name[:1]+name[len(name)-1:], letters) == ""
}

// scriptCA is the line that ends the CA in a script.
const scriptCA = "CERTROT_CA"

// embeddable refuses CAs that a script could not hold as they are, or read.
func (a Repair) embeddable(hints inspect.Hints) error {
	refuse := func(line int, why string) error {
		return &remediate.Refusal{Name: "ca-usable", Reason: fmt.Sprintf("%s: line %d %s, so a script can't hold it as it is", a.CASource, line, why), Next: hints.Next("on the node itself: {} fix-api-int --local --ca-file FILE")}
	}
	inside, behind := false, 0 // the line of text behind the last certificate
	for i, line := range strings.Split(strings.TrimRight(string(a.CA), "\r\n"), "\n") {
		switch {
		case strings.Trim(line, printable) != "" || line == scriptCA:
			return refuse(i+1, "has other characters than those of ASCII")
		case line == "-----BEGIN CERTIFICATE-----" && !inside:
			inside = true
		case line == "-----END CERTIFICATE-----" && inside:
			inside = false
			behind = 0
		case !inside && strings.TrimSpace(line) != "":
			behind = i + 1
		case strings.Contains(line, "-----") || inside && (line == "" || strings.Trim(line, base64Letters) != ""):
			return refuse(i+1, "is not PEM as it is usually written")
		}
	}
	if behind > 0 {
		return refuse(behind, "stands behind the last certificate")
	}
	return nil
}

const (
	base64Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
	printable     = " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"
)

// Text is the script. version is certrot's.
func (s Script) Text(version string) []byte {
	ca := append(bytes.TrimRight(bytes.Clone(s.CA), "\r\n"), '\n')
	sum := sha256.Sum256(ca)
	var subjects []string
	for _, c := range pki.LoadedPEM(pki.NewScanner(), ca) {
		subjects = append(subjects, fmt.Sprintf("#   %s, until %s, sha256 %s", comment(c.Subject), c.NotAfter.UTC().Format(time.RFC3339), c.Fingerprint))
	}
	notes := []string{""}
	for _, n := range s.Notes {
		notes = append(notes, "#   "+comment(n))
	}
	was := func(i int) string {
		if s.SHA256[i] == (pki.Fingerprint{}) {
			return ""
		}
		return s.SHA256[i].String()
	}
	joins := ""
	if s.Setup.BootstrapDeleted {
		joins = "1"
	}
	return []byte(strings.NewReplacer(
		"@NODE@", s.Node, "@RUN@", s.Run, "@NAME@", s.Name(), "@FOLDER@", host.DefaultFolder, "@HOLD_SECONDS@", strconv.Itoa(int(host.HoldTime/time.Second)),
		"@SETUP@", s.Setup.Name, "@JOINS@", joins, "@BOOTSTRAP@", s.Setup.Bootstrap, "@OWN@", s.Setup.Kubeconfig, "@BOOTSTRAP_SHA256@", was(0), "@OWN_SHA256@", was(1),
		"@CA_SHA256@", hex.EncodeToString(sum[:]), "@CA@", strings.TrimSuffix(string(ca), "\n"),
		"@HOST@", strings.TrimSuffix(host.Script(), "\n"), "@SUBJECTS@", strings.Join(subjects, "\n"), "@NOTES@", strings.Join(notes, "\n"),
		"@MADE@", s.Created.UTC().Format(time.RFC3339), "@VERSION@", comment(version), "@FROM@", comment(s.From),
	).Replace(scriptText))
}

// comment is text that stays on a line of a comment.
func comment(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
}
