package catalog

import (
	"cmp"
	"fmt"
	"strings"
)

func document() string {
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	line("# What certrot knows: the catalog")
	line("")
	line("Made from the rows of `inspect/catalog`: do not edit. `UPDATE=1 go test ./inspect/catalog` rewrites this file.")
	line("")
	line("A row holds for the versions of a component, which is the ClusterOperator that owns it, by major and minor version;")
	line("`kubernetes` means plain Kubernetes. Mid-upgrade an operator's own version decides, and on a node what runs on that node.")
	line("The rows were read for OpenShift and OKD %s; %s, before a release.", reviewedVersions(), readBeforeRelease)
	line("Each was read in its source on %s, where the source has no other day; `testdata/reviews` beside the rows has each reading.", readOn)
	line("Where a patch version brought a change, its rows name the last one before and the first one after: what lies between may have it.")
	line("OKD's builds and nightlies have the day of their build instead; one without either is spanned, or unknown.")
	line("")
	line("*Owner* is who answers for a place; where another writes it, that is said too: in the latter's log is why a place is late.")
	line("The cert-regeneration-controller is container kube-apiserver-cert-regeneration-controller of kube-apiserver's pods; the cert-recovery-controllers are the containers")
	line("kube-controller-manager-recovery-controller and kube-scheduler-recovery-controller of theirs.")
	line("")
	line("*Lives* says how long a certificate is valid and at what age it is renewed: `30d, renewed at 15d or 80%%` means whichever comes first.")
	line("A feature gate and a ConfigMap, both for tests, shorten that: see [What shortens lives](#what-shortens-lives).")
	line("What has no automatic renewal has to be watched. What renews itself and is near its end is no alarm; what is past its renewal is.")
	line("")
	line("| mark | means |")
	line("|---|---|")
	line("| V | read in the source that is named |")
	line("| D | follows from that source, not yet seen on a cluster |")
	line("| U | unverified |")
	line("| K | known from the field |")
	for _, s := range sections() {
		line("")
		line("## %s", s.title)
		line("")
		line("| place | what it is | role | owner | lives | holds for | source |")
		line("|---|---|---|---|---|---|---|")
		for _, p := range s.places {
			line("| `%s` | %s | %s | %s | %s | %s | %s |", rowName(p), cell(p.Doc), p.Role, p.WrittenBy(), lives(p), p.In, evidence(p.Evidence))
		}
	}
	line("")
	line("## Who signs what")
	line("")
	line("Where two names fit, the longer one counts: `etcd-serving-metrics-*` is not of `etcd-serving-*`.")
	line("")
	line("| signer | its certificate is in | signs | holds for | source |")
	line("|---|---|---|---|---|")
	for _, r := range Rotations() {
		published := "no bundle of its own"
		if r.Bundle != (Ref{}) {
			published = "`" + r.Bundle.String() + "`"
		}
		line("| `%s` | %s | %s | %s | %s |", r.Signer, published, signs(r), r.In, evidence(r.Evidence))
	}
	line("")
	line("## What a bundle must contain")
	line("")
	line("A union contains every unexpired certificate of each part; a copy is its one part. Parts that do not exist contribute nothing.")
	line("")
	line("| bundle | relation | parts | holds for | source |")
	line("|---|---|---|---|---|")
	for _, a := range Aggregates() {
		line("| `%s` | %s | %s | %s | %s |", rowName(Place{Ref: a.Target, Selector: a.Selector}), a.Relation, strings.TrimSuffix(refs(a.Parts)+"<br>"+cell(a.Doc), "<br>"), a.In, evidence(a.Evidence))
	}
	line("")
	line("## What reaches a place by itself")
	line("")
	line("| place | by itself | how | holds for | source |")
	line("|---|---|---|---|---|")
	for _, d := range Deliveries() {
		does := "no"
		if d.Delivered {
			does = "yes"
		}
		how := d.Doc
		if len(d.NoRestart) > 0 {
			how += ". " + d.Effect
		}
		line("| `%s` | %s | %s | %s | %s |", d.To, does, cell(how), d.In, evidence(d.Evidence))
	}
	line("")
	line("## How static pods get what they read")
	line("")
	line("A revision is put on one control plane node after another, and the process restarts with it. Without one the cert-syncer writes a change into the same files on all control plane nodes, and the process reloads it.")
	line("")
	line("| static pods of | a change is | ConfigMaps | Secrets | holds for | source |")
	line("|---|---|---|---|---|---|")
	for _, i := range staticPodInputs() {
		change := "reloaded"
		switch {
		case i.Rollout:
			change = "a new revision"
		case i.AtStart:
			change = "written, and read at the next start"
		}
		if i.Doc != "" {
			change += "; " + cell(i.Doc)
		}
		names := func(all []string) string {
			if len(all) == 0 {
				return ""
			}
			return "`" + strings.Join(all, "`, `") + "`"
		}
		line("| %s | %s | %s | %s | %s | %s |", i.Component, change, names(i.ConfigMaps), names(i.Secrets), i.In, evidence(i.Evidence))
	}
	line("")
	line("## What certificates in a MachineConfig do to nodes")
	line("")
	line("machine-config-daemon writes the files of a new MachineConfig (from 4.13 on without kubelet-ca.crt), and acts on those that differ from the one before: it reboots where one asks for that. Else it does the greatest of what they ask for up to 4.16 (in 4.14, in 4.15 and up to 4.16.1 a reload of CRI-O for another file may take the place of its restart), and from 4.17 on all of it.")
	line("")
	line("| file that differs | the node's | holds for | source |")
	line("|---|---|---|---|")
	for _, f := range configFileEffects() {
		line("| `%s` | %s | %s | %s |", f.Path, withDoc(string(f.Effect), f.Doc), f.In, evidence(f.Evidence))
	}
	line("")
	line("## Early rotation, and what triggers it")
	line("")
	line("Where there is an annotation, `certrot rotate` removes it, and the owner rotates the certificate. Elsewhere certrot triggers nothing.")
	line("")
	line("| place | annotation | who rotates it | holds for | source |")
	line("|---|---|---|---|---|")
	for _, t := range Triggers() {
		annotation := "none"
		if t.Annotation != "" {
			annotation = "`" + t.Annotation + "`"
		}
		line("| `%s` | %s | %s | %s | %s |", t.Secret, annotation, cell(t.Doc)+whoStays(t), t.In, evidence(t.Evidence))
	}
	line("")
	line("## Which files on nodes are copies of objects")
	line("")
	line("A file may hold more than its object, and has to hold what that holds, but for what its row says. In kubeconfigs that is the CA of the cluster.")
	line("")
	line("| file | object | copied by | holds for | source |")
	line("|---|---|---|---|---|")
	for _, c := range NodeCopies() {
		line("| `%s` | `%s` | %s | %s | %s |", c.File, c.Object, withDoc(c.Writer, c.Doc), c.In, evidence(c.Evidence))
	}
	line("")
	line("## Where a kubelet may be restarted")
	line("")
	line("By the topology of the control plane (Infrastructure, status.controlPlaneTopology). One that is not here is refused.")
	line("")
	line("| topology | may | why | instead | source |")
	line("|---|---|---|---|---|")
	for _, t := range Topologies() {
		may := "no"
		if t.RestartAllowed {
			may = "yes"
		}
		line("| %s | %s | %s | %s | %s |", t.Name, may, cell(t.Doc), cell(t.Next), evidence(t.Evidence))
	}
	line("")
	line("## How kubelets are set up")
	line("")
	line("A node is taken for set up in one of these ways by its kubelet's flags; where that does not run, by the files that are there. What is in neither is refused.")
	line("")
	line("| by | kubeconfigs: to join with, its own | trust anchors | on masters | kube-apiserver's pods in | holds for | source |")
	line("|---|---|---|---|---|---|---|")
	for _, s := range allKubeletSetups() {
		join := ""
		if s.BootstrapDeleted {
			join = " (only while the node joins)"
		}
		line("| %s | `%s`%s, `%s` | `%s` | `%s` | `%s` | %s | %s |", s.Name, s.Bootstrap, join, s.Kubeconfig, s.CA, s.MasterCAFile, s.APIServerNamespace, s.In, evidence(s.Evidence))
	}
	line("")
	line("Files beside them that are to trust the same CAs, and that are left as they are:")
	line("")
	line("| by | file | read | repaired on the node by |")
	line("|---|---|---|---|")
	for _, s := range allKubeletSetups() {
		for _, b := range s.OtherTrustFiles {
			on := map[Tristate]string{Yes: " on control plane nodes", No: " on other nodes"}[b.Masters]
			line("| %s | `%s`%s | %s | %s |", s.Name, b.Path, on, cell(b.Reader), cell(b.Remediation))
		}
	}
	line("")
	line("| refused | by this in the API server's version | why | instead | source |")
	line("|---|---|---|---|---|")
	for _, d := range distributions() {
		line("| %s | `%s` | %s | %s | %s |", d.Name, d.Mark, cell(d.Doc), cell(d.Next), evidence(d.Evidence))
	}
	line("")
	line("## Who asks for kubelets' certificates")
	line("")
	line("What any other user asks for is never approved. NODE stands for the node's name, each ? for a letter or digit of a token's ID.")
	line("A kubelet repeats what fails after 2, 4, 8 and 16 s, then each 32 s, and asks once more where nothing is issued within 15 minutes (kubernetes/client-go util/certificate/certificate_manager.go v0.35.4).")
	line("")
	line("| signer | asked by | in the group | when | holds for | source |")
	line("|---|---|---|---|---|---|")
	for _, r := range KubeletRequesters() {
		line("| %s | `%s` | `%s` | %s | %s | %s |", r.Signer, r.User, r.Group, cell(r.Doc), r.In, evidence(r.Evidence))
	}
	line("")
	line("| signer | usages, and no other | when | holds for | source |")
	line("|---|---|---|---|---|")
	for _, u := range kubeletUsages() {
		line("| %s | %s | %s | %s | %s |", u.Signer, strings.Join(u.Usages, ", "), cell(u.Doc), u.In, evidence(u.Evidence))
	}
	line("")
	for _, g := range guestMachines() {
		line("On the platform %s a Machine's addresses are what the machine says of itself: they outweigh no other kubelet's word (%s; %s).", g.Platform, g.In, evidence(g.Evidence))
		line("")
	}
	line("| who approves unattended | where | reason | what | holds for | source |")
	line("|---|---|---|---|---|---|")
	for _, a := range requestApprovers() {
		line("| %s | `%s` is %s | `%s` | %s | %s | %s |", a.Who, a.Toggle, a.Value, a.Reason, cell(a.Doc), "announced: in no release", evidence(a.Evidence))
	}
	line("")
	documentMovers(line)
	line("")
	line("## Edges: who verifies which certificate")
	line("")
	line("An edge holds when what is presented verifies against the verifier's trust anchors, for the name ([verify.md](verify.md)).")
	line("")
	line("Its reader decides which certificates of the trust anchors it loads: `go` is crypto/x509's AppendCertsFromPEM, `go, all or none` is client-go's ParseCertsPEM, `openssl` is OpenSSL's X509_load_cert_crl_file. `unknown`: several programs, or one whose reader was not looked at.")
	line("")
	line("| edge | who verifies | trust anchors | what is presented | for the name | read | reader | impact | holds for | source |")
	line("|---|---|---|---|---|---|---|---|---|---|")
	for _, e := range Edges() {
		trust, presented, name, holds := edgeCells(e)
		line("| `%s` | %s | %s | %s | %s | %s | %s | %s | %s | %s |", e.ID, e.Verifier, trust, presented, name, e.Reload, e.Reader, cell(e.Impact), holds, evidence(e.Evidence))
	}
	line("")
	line("## What is in memory")
	line("")
	line("Who reads trust anchors only at the start may have older ones than the file ([verify.md](verify.md#what-is-in-memory)).")
	line("")
	line("| claim | of the edge | process | impact | holds for | source |")
	line("|---|---|---|---|---|---|")
	for _, p := range StartupReaders() {
		line("| `%s` | `%s` | %s | %s | %s | %s |", p.ID, p.EdgeID, strings.TrimSpace(p.Command+" "+p.Argument), cell(p.Impact), p.In, evidence(p.Evidence))
	}
	line("")
	line("## Which network pods are restarted")
	line("")
	line("In this order on a node, and those that come first before all nodes; only where they run since before the CA could be known to them ([network.md](network.md)).")
	line("")
	line("| row | DaemonSet | selected by | reads at its start | restarted | what it is for | holds for | source |")
	line("|---|---|---|---|---|---|---|---|")
	for _, p := range NodeDaemonSets() {
		restarted := "node by node"
		switch {
		case p.SelfReloading:
			restarted = "no"
		case p.RestartFirst:
			restarted = "first of all"
		}
		reads := "`" + p.Trust.String() + "`"
		if p.OtherTrust != (Ref{}) {
			reads += ", `" + p.OtherTrust.String() + "`"
		}
		line("| `%s` | `%s/%s` | `%s` | %s | %s | %s | %s | %s |", p.ID, p.Namespace, p.DaemonSet, p.Label, reads, restarted, cell(p.Doc), p.In, evidence(p.Evidence))
	}
	line("")
	line("## What servers' logs say of their clients")
	line("")
	line("A client that does not accept a certificate breaks off the handshake, and the server writes that down ([verify.md](verify.md#seen-from-the-server)).")
	line("")
	line("| claim | server | log on its node | written with | impact | holds for | source |")
	line("|---|---|---|---|---|---|---|")
	for _, l := range ServerLogs() {
		level := l.Level
		if level == "" {
			level = "any log level"
		}
		line("| `%s` | %s | `%s` | %s | %s | %s | %s |", l.ID, l.Server, l.Path(), level, cell(l.Impact), l.In, evidence(l.Evidence))
	}
	line("")
	line("## Whose log has what a machine joins the cluster with")
	line("")
	line("From 4.16 on machine-config-daemon writes new CAs into /etc/kubernetes/kubeconfig, and some versions print the file, with its token or key. Each version prints one that it cannot parse.")
	line("")
	line("| prints it | no longer printed in | holds for | source |")
	line("|---|---|---|---|")
	for _, l := range tokenLogs() {
		prints := "no"
		if l.Prints {
			prints = "yes"
		}
		line("| %s | %s | %s | %s |", prints, l.Upgrade, l.In, evidence(l.Evidence))
	}
	line("")
	line("## Who holds a connection")
	line("")
	line("It verifies what kube-apiserver presents when it connects, and not again before the connection ends: by a break of the network, a rollout of")
	line("kube-apiserver, a restart of its own, a renewal of its own client certificate where that is named (within 5 minutes), or at kube-apiserver's wish (goaway-chance).")
	line("")
	line("| edges | a request at least every | own client certificate | source |")
	line("|---|---|---|---|")
	for _, c := range connections() {
		every, client := "", ""
		if c.Every > 0 {
			every = c.Every.String()
		}
		if c.Client != (Ref{}) {
			client = "`" + c.Client.String() + "`"
		}
		line("| `%s` | %s | %s | %s |", strings.Join(c.Edges, "`, `"), every, client, evidence(c.Evidence))
	}
	line("")
	line("| topology | chance of a request to end its connection | beside | holds for | source |")
	line("|---|---|---|---|---|")
	for _, g := range goaways() {
		line("| %s | %g | %s | %s | %s |", cmp.Or(g.Topology, "any other"), g.Chance, cell(g.Doc), g.In, evidence(g.Evidence))
	}
	line("")
	line("## Who made the load balancer's signer")
	line("")
	line("| common name | made by | source |")
	line("|---|---|---|")
	for _, n := range signerNames() {
		name := n.Name
		if !n.ByInstaller {
			name += "(Unix time)"
		}
		line("| `%s` | %s | %s |", name, n.CreatedBy, evidence(n.Evidence))
	}
	line("")
	line("| cluster born with | what is known | source |")
	line("|---|---|---|")
	line("| %s or earlier | %s | %s |", EarlySignerRotation().To, cell(EarlySignerRotation().Doc), evidence(EarlySignerRotation().Evidence))
	line("")
	line("## What servers present")
	line("")
	line("Each server is asked by a TLS handshake, on its own address, for each name ([verify.md](verify.md)); it must present what the place holds.")
	line("A change is read within the time that is named; without one, not before a restart.")
	line("")
	line("| claim | server | for the name | the place | or instead | read | holds for | source |")
	line("|---|---|---|---|---|---|---|---|")
	for _, s := range Servers() {
		if s.Listener.Port == "" {
			line("| `%s` | who answers at the address in a kubeconfig, of %s | the kubeconfig's, of those that kube-apiserver has | | | | %s | %s |", s.ID, s.Verifier, s.In, evidence(s.Evidence))
			continue
		}
		for _, c := range s.Certs {
			name, read := string(c.Name), string(c.Reload)
			if c.ReloadWithin > 0 {
				read += fmt.Sprintf(", within %d min", int(c.ReloadWithin.Minutes()))
			}
			if c.Reload == ReloadByRenewal {
				read += "; what another writes there, at its start"
			}
			if c.CustomReload != "" {
				read += "; what is there instead, " + string(c.CustomReload)
			}
			line("| `%s` | %s %s | %s | `%s` | %s | %s | %s | %s |", s.ID, s.Listener.Name, s.Listener.Port, name, c.From, refs(c.Custom), read, s.In, evidence(s.Evidence))
		}
	}
	line("")
	line("No handshake tells whether a client's certificate is accepted. Following a rotation, masters ask with their own, and its key does not leave them ([rotate.md](rotate.md)):")
	line("")
	line("| claim | certificate on masters | a copy of | presented to | verified first by | for | holds for | source |")
	line("|---|---|---|---|---|---|---|---|")
	for _, c := range Callers() {
		line("| `%s` | `%s` | `%s` | %s | `%s` | `%s` | %s | %s |", c.ID, c.Certificate, c.Presented, c.ListenerName, c.CA, c.Path, c.In, evidence(c.Evidence))
	}
	own := CustomAPIIntEdge()
	line("")
	line("`%s`: %s (%s). For %s; %s.", own.ID, own.Statement, own.Impact, own.In, evidence(own.Evidence))
	line("")
	line("## What becomes of signers in Secrets of another type")
	line("")
	line("kubernetes.io/tls is the right type. A Secret's type can't be changed, but from 4.15.10 on OpenShift's kube-apiserver lets these Secrets get the right one.")
	line("")
	line("| type | harms | why | instead | holds for | source |")
	line("|---|---|---|---|---|---|")
	for _, st := range signerTypes() {
		harms := "no"
		if st.NeedsAction {
			harms = "yes"
		}
		line("| %s | %s | %s | %s | %s | %s |", st.Type, harms, cell(st.Doc), cell(st.Next), st.In, evidence(st.Evidence))
	}
	documentKeys(line)
	documentShorterLives(line)
	return out.String()
}
