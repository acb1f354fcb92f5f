package catalog

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Trigger is a row: how a signer, or what a signer signs, is rotated before its
// time.
type Trigger struct {
	// Secret is what is triggered; a '*' in its Name stands for any run of characters.
	Secret Ref
	// Annotation is the one whose removal has the owner rotate it; empty: certrot
	// triggers nothing here, and Doc says what people do.
	Annotation string
	// SettleTime is how long after it was made another one may still take its place: two who
	// see that the annotation is gone each make one, and look again once in a resync.
	// Zero: there is one who makes it, or it does not matter which one stays.
	SettleTime time.Duration
	// SecondIssuer is who may issue it too, beside its owner; empty: only its owner does.
	SecondIssuer string
	// Alone are the versions in which the owner alone issues it, though there is a SecondIssuer in
	// others. Of rows with a SecondIssuer only; without a Component: in none.
	Alone Range
	// LastStays are the versions in which the second one to write takes the first one's place;
	// in others its write is refused (Conflict). Of rows with a SettleTime only.
	LastStays Range
	// Doc says who rotates it, and how.
	Doc string
	In  Range
	Evidence
}

func allTriggers() []Trigger {
	return slices.Concat(kubeAPIServerTriggers(), kubeControllerManagerTriggers(), otherTriggers())
}

// writesOnce is where it was read which one stays, of two that are issued.
const writesOnce = "; vendor/github.com/openshift/library-go/pkg/operator/certrotation/{signer,target}.go of that operator @ release-4.17 (ApplySecret), release-4.18 (Secrets().Update) to 4.23"

func kubeAPIServerTriggers() []Trigger {
	src := Evidence{Verified, "openshift/library-go pkg/operator/certrotation/signer.go (needNewSigningCertKeyPair) and target.go (needNewTargetCertKeyPair) @ 93ac9206a; " + kasRotation().Source + writesOnce + secondRead}
	// Two resyncs of a minute each: the one that came second looks again, and makes none.
	rows := annotated(kubeAPIServerRotations(), kasOwner+" and "+kasSecondWriter+" rotate it as soon as the annotation is gone", 2*time.Minute, src)
	for i := range rows {
		rows[i].SecondIssuer, rows[i].LastStays = kasSecondIssuer, Range{Component: kas, To: Minor{4, 17}}
		rows[i].Alone = between(kas, Minor{4, 19}, Minor{4, 19}).before(regenerates())
	}
	return rows
}

func kubeControllerManagerTriggers() []Trigger {
	src := Evidence{Verified, "openshift/library-go pkg/operator/certrotation @ 93ac9206a; " + kcmRepo + "pkg/operator/certrotationcontroller/certrotationcontroller.go and pkg/cmd/recoverycontroller/cmd.go @ " + kcmRead + "; release-4.23 209d5915d" + writesOnce}
	own := kubeControllerManagerRotations()[:1]
	rows := annotated(own, kcmOwner+" and "+kcmSecondWriter+" renew it as soon as the annotation is gone", 2*time.Minute, src)
	for i := range rows {
		// csr-signer signs kubelets' certificates: of it, too, it matters which one stays.
		rows[i].SecondIssuer, rows[i].SettleTime, rows[i].LastStays = recoveryController, 2*time.Minute, Range{Component: kcm, To: Minor{4, 17}}
	}
	return append(rows, Trigger{
		Secret: secret(kcmTarget, "csr-signer"), In: Range{Component: kcm},
		Doc: "it is a copy: kube-controller-manager-operator, or the cert-recovery-controller beside kube-controller-manager, brings it " + kcmOperator + "/csr-signer 5 minutes after that was rotated, at once where the copy is missing or expired; rotate that one. " +
			"From 4.15 on the copy has the annotation " + AnnotationNotAfter + " too: its removal here does nothing",
		Evidence: Evidence{Verified, kcmRepo + "pkg/operator/targetconfigcontroller/targetconfigcontroller.go (ManageCSRSigner) and pkg/cmd/recoverycontroller/csrcontroller.go @ " + kcmRead},
	})
}

// annotated are the triggers of what library-go's rotation keeps: signers and targets
// alike lose the annotation that says when they end.
// Of a target it does not matter which one stays: the same signer has signed each.
func annotated(rotations []Rotation, doc string, quiet time.Duration, src Evidence) []Trigger {
	var out []Trigger
	for _, r := range rotations {
		for _, of := range append([]Ref{r.Signer}, r.Targets...) {
			t := Trigger{Secret: of, Annotation: AnnotationNotAfter, Doc: doc, In: r.In, Evidence: src}
			if of == r.Signer {
				t.SettleTime = quiet
			}
			out = append(out, t)
		}
	}
	return out
}

// etcdSignerTriggers are how etcd's signers are rotated in the versions of etcdRotations; NAME
// stands for the Secret.
func etcdSignerTriggers() []Trigger {
	src := etcdTLS().Source
	return []Trigger{
		{
			Doc: "no operator renews it: in this version cluster-etcd-operator signs with what the installer made. From OpenShift 4.16 on there is a documented way to replace it",
			In:  Range{Component: etcd, To: Minor{4, 15}}, Evidence: Evidence{Verified, src},
		},
		{
			Doc: "no operator renews it; certrot does not trigger it. By hand, as documented for 4.16: copy openshift-etcd/NAME, which all members trust already, over this, and wait until the cluster is stable: " +
				`oc get secret NAME -n openshift-etcd -o json | jq 'del(.type, .metadata["namespace","creationTimestamp","resourceVersion","selfLink","uid"])' | oc apply -n openshift-config -f -; oc adm wait-for-stable-cluster --minimum-stable-period 2m. ` +
				"Without .type: of clusters born with 4.6 or earlier it is SecretTypeTLS, which can't be changed, and the documented command, which keeps it, is refused. " +
				"Only where openshift-etcd/NAME is near its own end (annotation " + AnnotationNotAfter + "), or is the one that was copied here before, first delete it, and wait until etcd's new revision is on all control plane nodes",
			In: between(etcd, Minor{4, 16}, Minor{4, 16}), Evidence: Evidence{Verified, src + "; openshift/openshift-docs modules/rotating-certificate-authority.adoc @ 223de68b; " + etcdRepo + "docs/etcd-tls-assets.md @ release-4.16"},
		},
		{
			Doc: "cluster-etcd-operator rotates it by itself, and signs nothing with it before its CA is in the revision of etcd that runs, unless a control plane node is added meanwhile, or Secret etcd-all-certs or ConfigMap etcd-all-bundles is missing: then it signs for all nodes at once. " +
				"Add no control plane node before the rollouts are over. certrot does not trigger it: the documented way is to delete it, and then the old key is gone before any member of etcd trusts the new one. " +
				"By hand: oc delete secret -n openshift-etcd NAME; oc wait --for=condition=Progressing=False --timeout=15m clusteroperator/etcd",
			In: since(etcd, Minor{4, 17}), Evidence: Evidence{Verified, src + " (sync, ensureBundles, getCertRotationRevision, hasNodeCertDiff, forcedSyncLeafCertificates) and target_cert_creator.go; docs.okd.io/4.17/security/certificate_types_descriptions/etcd-certificates.html"},
		},
	}
}

// triggersOf are the triggers of rotations' signers and of what these sign, each once, and none of these
// places.
func triggersOf(rotations []Rotation, doc string, src Evidence, but ...Trigger) []Trigger {
	var rows []Trigger
	for _, r := range rotations {
		for _, of := range append([]Ref{r.Signer}, r.Targets...) {
			if of.Kind == Secret && !slices.ContainsFunc(slices.Concat(but, rows), func(t Trigger) bool { return t.Secret == of && t.In.overlaps(r.In) }) {
				rows = append(rows, Trigger{Secret: of, Doc: doc, In: r.In, Evidence: src})
			}
		}
	}
	return rows
}

func otherTriggers() []Trigger {
	var rows []Trigger
	add := func(rotations []Rotation, doc string, src Evidence) {
		rows = append(rows, triggersOf(rotations, doc, src, rows...)...)
	}
	for _, r := range etcdRotations() {
		signer := r
		signer.Targets = nil
		for _, row := range etcdSignerTriggers() {
			if row.In == r.In {
				add([]Rotation{signer}, strings.ReplaceAll(row.Doc, "NAME", r.Signer.Name), row.Evidence)
			}
		}
		add([]Rotation{r}, "cluster-etcd-operator rotates it by itself; certrot does not trigger it: only the operator ensures that its verifiers trust it, by its version's own procedure", etcdTLS())
	}
	add(serviceCARotations(), "service-ca-operator rotates it by itself when half of its life is left, with a bridge for clients that trust only the previous CA. certrot does not force it: the documented way (oc delete secret -n openshift-service-ca signing-key, "+
		"then restart all pods of the cluster) makes a CA without that bridge, and until they are restarted Services and their clients do not trust each other; the way with it (spec.unsupportedConfigOverrides.forceRotation.reason of ServiceCA cluster) is not supported",
		Evidence{Verified, serviceCARepo + "pkg/operator/sync_common.go (manageSignerCA) and rotate.go @ 6391e070d; openshift/openshift-docs modules/customize-certificates-manually-rotate-service-ca.adoc @ enterprise-4.21"})
	rows = append(rows, ingressTriggers()...)
	rows = append(rows, configServerTriggers()...)
	for _, r := range networkRotations() {
		for _, row := range networkDependents(r) {
			of := r
			of.In = row.In
			add([]Rotation{of}, "cluster-network-operator rotates it by itself; certrot triggers nothing here: "+row.Doc, row.Evidence)
		}
	}
	return rows
}

// TriggerOf returns the row about a Secret that holds for v.
func TriggerOf(of Ref, v Versions) (Trigger, Tristate) {
	answer := No
	for _, t := range Triggers() {
		if ok, err := path.Match(t.Secret.Name, of.Name); err != nil || !ok || t.Secret.Namespace != of.Namespace || t.Secret.Kind != of.Kind {
			continue
		}
		switch t.In.Holds(v) {
		case Yes:
			return t.inVersions(v), Yes
		case Unknown:
			answer = Unknown
		}
	}
	return Trigger{}, answer
}

// inVersions is the row as it is in these versions: without a second issuer where the owner is alone.
func (t Trigger) inVersions(v Versions) Trigger {
	if t.Alone.Component != "" && t.Alone.Holds(v) == Yes {
		t.SecondIssuer, t.SettleTime = "", 0
	}
	return t
}

// competition says which one counts, where two may issue it; empty: there is one, or any does.
func (t Trigger) competition(owner string, v Versions) string {
	switch {
	case t.SettleTime == 0:
		return ""
	case t.LastStays.Holds(v) == No:
		return fmt.Sprintf("; %s and the %s each try to, and the first one stays", owner, t.SecondIssuer)
	}
	return fmt.Sprintf("; %s and the %s may each issue one: which one stays is known after %.0f minutes", owner, t.SecondIssuer, t.SettleTime.Minutes())
}

// RotatableNames are the names of what certrot rotates in some version, as they may be typed:
// the Secret's name, or with the namespace before it where that is not enough.
func RotatableNames() []string {
	names := map[string]int{}
	var rows []Ref
	for _, t := range Triggers() {
		if t.Annotation != "" {
			rows = append(rows, t.Secret)
		}
		names[t.Secret.Name]++
	}
	var out []string
	for _, r := range rows {
		name := r.Name
		if names[name] > 1 {
			name = r.Namespace + "/" + r.Name
		}
		out = append(out, name)
	}
	return out
}
