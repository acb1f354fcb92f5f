package catalog

// The eight signers of kube-apiserver-operator, the bundles in which their
// certificates are published, and what they sign.

const (
	kas         = "kube-apiserver" // ClusterOperator
	kasOwner    = "kube-apiserver-operator"
	kasOperator = "openshift-kube-apiserver-operator"
	kasTarget   = "openshift-kube-apiserver"
	managed     = "openshift-config-managed"
	userConfig  = "openshift-config"
	kasRead     = "release-4.12 0217c88fb to release-4.22 9c413cd4d, each branch, release-4.23 and release-5.0 440392249 (2026-11-26)"
)

// The cert-regeneration-controller is the second writer of what kube-apiserver-operator rotates: of bundles at any
// time, of certificates as NewCertRotationControllerOnlyWhenExpired has it. Before they expire it issues those that
// rotation can't use, and up to 4.18 at least those of localhost-recovery by their age.
const (
	kasSecondIssuer = "cert-regeneration-controller"
	kasSecondWriter = "the " + kasSecondIssuer + " beside kube-apiserver (not in 4.19.0 to 4.19.17)"
	onceExpired     = ", at the latest once it is expired"
)

// secondRead is where it was read in which versions of 4.19 kube-apiserver has the
// cert-regeneration-controller.
const secondRead = "; pkg/cmd/certregenerationcontroller/cmd.go before and after 4.19 781be83e0 (of 4.19.4 it is open: 4986945df, reverted by cd86a6772); " + offered

// regenerates is when the cert-regeneration-controller began to work in 4.19. Before, it started its informers
// when nothing had asked them yet for Secrets, ConfigMaps, Networks and Infrastructures, and waited forever for
// these. Of 4.19.4 it is open: the fix was merged on 2025-07-08 (4986945df), and reverted a day later (cd86a6772).
func regenerates() Change { // commit 3b153b958, merged as 781be83e0
	return Change{Lacks: 17, Has: 18, Merged: "2025-10-22"}
}

// kasRotation is the file that all of the rows below were read in, on main and
// on each of the release branches 4.12 to 4.23 and 5.0. On main, and on branches of
// versions that are not out (5.1, 5.2), the days are sixtieths, to rotate often in
// development.
func kasRotation() Evidence {
	return Evidence{Verified, "openshift/cluster-kube-apiserver-operator pkg/operator/certrotationcontroller/certrotationcontroller.go and pkg/cmd/certregenerationcontroller @ " + kasRead + "; release-4.23 440392249"}
}

// kasMonth is the lifetime of most of what kube-apiserver-operator makes.
func kasMonth() []Lifetime {
	return []Lifetime{rotated(kasOwner, 30*day, 15*day, since(kas, Minor{4, 12}), kasRotation())}
}

// systemAdmin is the lifetime of the emergency administrator's certificate.
func systemAdmin() []Lifetime {
	return []Lifetime{
		rotated(kasOwner, 120*day, 30*day, between(kas, Minor{4, 12}, Minor{4, 15}), kasRotation()).with(expiresWithSigner),
		rotated(kasOwner, year, 30*day, between(kas, Minor{4, 16}, Minor{4, 19}).before(threeYears()), kasRotation()).
			with(expiresWithSigner), // it is made for two years, by a signer that lives one
		rotated(kasOwner, 2*year, 30*day, since(kas, Minor{4, 19}).since(threeYears()), kasRotation()).
			with(expiresWithSigner),
	}
}

// threeYears is when node-system-admin-signer began to live three years, and not one.
func threeYears() Change { // commit 7f8eb2925, merged as b9e35ecb1
	return Change{Lacks: 9, Has: 11, Merged: "2025-08-26"}
}

// kubeletSignerLives is the lifetime of kube-apiserver-to-kubelet-signer from 4.19 on, whose refresh was 30
// days until openshift/cluster-kube-apiserver-operator#2174. Only what the branches of 4.20 and later make
// says when it is renewed (AnnotationRefreshPeriod).
func kubeletSignerLives(src Evidence) []Lifetime {
	src.Mark = Derived
	src.Source += "; release-4.19 1b4840343, release-4.20 e9accf887, release-4.21 dc1c217c2: 30 days; release-4.22 9c413cd4d merged #2174, for which cherry-picks to 4.19 to 4.21 were asked; " + offered
	monthly := func(in Range) Lifetime { return rotated(kasOwner, year, 30*day, in, src) }
	later := func(in Range) Lifetime {
		l := rotated(kasOwner, year, 292*day, in, src)
		l.RefreshFrom = 30 * day
		return l
	}
	out := []Lifetime{}
	for _, read := range []struct {
		in   Minor
		last int // offered until the branch was read, on 2026-08-21
	}{{Minor{4, 19}, 44}, {Minor{4, 20}, 35}, {Minor{4, 21}, 30}} {
		unread := Change{Lacks: read.last, Has: read.last + 1, Merged: "2026-08-21"}
		in := between(kas, read.in, read.in)
		out = append(out, monthly(in.before(unread)), later(in.since(unread)))
	}
	backToYearly := Change{Lacks: 0, Has: 3, Merged: "2026-06-11"} // commit 569c6a27d, merged as 9c413cd4d
	return append(out, monthly(between(kas, Minor{4, 22}, Minor{4, 22}).before(backToYearly)), rotated(kasOwner, year, 292*day, since(kas, Minor{4, 22}).since(backToYearly), src))
}

func kubeAPIServerSignerPlaces() []Place {
	src := kasRotation()
	src.Source += secondRead
	all := Range{Component: kas}
	admin := Evidence{Derived, src.Source + "; 7f8eb2925, merged to release-4.19 as b9e35ecb1; " + offered}
	known := since(kas, Minor{4, 12})
	forever := []Lifetime{rotated(kasOwner, 10*year, 8*year, known, src)}
	month := kasMonth()
	signer := func(name, doc string, lives []Lifetime) Place {
		return Place{Ref: secret(kasOperator, name), Role: Signer, Owner: kasOwner, SecondWriter: kasSecondWriter + onceExpired, Doc: doc, Lifetimes: lives, In: all, Evidence: src}
	}
	ca := func(at Ref, doc string) Place {
		return Place{Ref: at, Role: CABundle, Owner: kasOwner, SecondWriter: kasSecondWriter, Doc: doc, In: all, Evidence: src}
	}
	leaf := func(at Ref, role Role, doc string, lives []Lifetime) Place {
		return Place{Ref: at, Role: role, Owner: kasOwner, SecondWriter: kasSecondWriter + onceExpired, Doc: doc, Lifetimes: lives, In: all, Evidence: src}
	}
	// What the installer's first ones were like, in a must-gather of 4.8.
	first := func(l Lifetime, doc string) []Lifetime { return []Lifetime{l.with(doc)} }
	return []Place{
		signer("aggregator-client-signer", "signs kube-apiserver's front proxy certificate", first(month[0], "the installer's first one lives a day")),
		ca(bundle(managed, "kube-apiserver-aggregator-client-ca"), "aggregated API servers verify kube-apiserver's front proxy certificate with it"),
		leaf(secret(kasTarget, "aggregator-client"), Client, "kube-apiserver's front proxy certificate (system:openshift-aggregator)", []Lifetime{month[0].with(expiresWithSigner)}),

		signer("kube-apiserver-to-kubelet-signer", "signs the certificate with which kube-apiserver calls kubelets", append([]Lifetime{
			// 8 years against a validity of one: the 80 % rule decides.
			rotated(kasOwner, year, 8*year, between(kas, Minor{4, 12}, Minor{4, 13}), src),
			rotated(kasOwner, year, 292*day, between(kas, Minor{4, 14}, Minor{4, 18}), src),
		}, kubeletSignerLives(src)...)),
		ca(bundle(kasOperator, "kube-apiserver-to-kubelet-client-ca"), "kubelets verify kube-apiserver's client certificate with it"),
		leaf(secret(kasTarget, "kubelet-client"), Client, "kube-apiserver's certificate for calling kubelets: logs, exec, port-forward (system:kube-apiserver)", month),

		signer("localhost-serving-signer", "signs what kube-apiserver serves on localhost", forever),
		ca(bundle(kasOperator, "localhost-serving-ca"), "clients on the same host verify kube-apiserver's serving certificate with it"),
		leaf(secret(kasTarget, "localhost-serving-cert-certkey"), Serving, "served by kube-apiserver on localhost", month),

		signer("service-network-serving-signer", "signs what kube-apiserver serves inside the service network", forever),
		ca(bundle(kasOperator, "service-network-serving-ca"), "pods verify kube-apiserver's serving certificate with it when they use its service address"),
		leaf(secret(kasTarget, "service-network-serving-certkey"), Serving, "served by kube-apiserver for kubernetes.default.svc, and where no other certificate fits", month),

		signer("loadbalancer-serving-signer", "signs what kube-apiserver serves for api and api-int: every kubelet's kubeconfig embeds its certificate", forever),
		ca(bundle(kasOperator, "loadbalancer-serving-ca"), "kubelets and administrators verify kube-apiserver's serving certificate with it"),
		leaf(secret(kasTarget, "external-loadbalancer-serving-certkey"), Serving, "served by kube-apiserver for api.<cluster domain>, unless a certificate of APIServer spec.servingCerts lists that name itself", month),
		leaf(secret(kasTarget, "internal-loadbalancer-serving-certkey"), Serving, "served by kube-apiserver for api-int.<cluster domain>: what kubelets see", month),

		signer("localhost-recovery-serving-signer", "signs the certificate by which the control plane reaches itself while all others are expired", forever),
		ca(bundle(kasOperator, "localhost-recovery-serving-ca"), "recovery clients on the same host verify kube-apiserver's serving certificate with it"),
		leaf(secret(kasTarget, "localhost-recovery-serving-certkey"), Serving, "served by kube-apiserver for the name localhost-recovery", forever),

		signer("kube-control-plane-signer", "signs client certificates of the control plane's own components", first(rotated(kasOwner, 60*day, 30*day, known, src), "the installer's first one lives a year")),
		ca(bundle(kasOperator, "kube-control-plane-signer-ca"), "kube-apiserver verifies control plane components' client certificates with it"),
		leaf(secret(managed, "kube-controller-manager-client-cert-key"), Client, "kube-controller-manager's client certificate, as published", month),
		leaf(secret(managed, "kube-scheduler-client-cert-key"), Client, "kube-scheduler's client certificate, as published", month),
		leaf(secret(kasTarget, "control-plane-node-admin-client-cert-key"), Client, "administrative client certificate of control plane nodes (system:masters)", month),
		leaf(secret(kasTarget, "check-endpoints-client-cert-key"), Client, "client certificate of the endpoint checks beside kube-apiserver", month),

		signer("node-system-admin-signer", "signs the emergency administrator's certificate that lies on control plane nodes", []Lifetime{
			rotated(kasOwner, year, 292*day, between(kas, Minor{4, 12}, Minor{4, 19}).before(threeYears()), admin),
			rotated(kasOwner, 3*year, 876*day, since(kas, Minor{4, 19}).since(threeYears()), admin),
		}),
		ca(bundle(kasOperator, "node-system-admin-ca"), "kube-apiserver verifies the emergency administrator's client certificate with it"),
		leaf(secret(kasOperator, "node-system-admin-client"), Client, "the emergency administrator's certificate (system:admin), built into the kubeconfigs on control plane nodes", systemAdmin()),
	}
}

func kubeAPIServerRotations() []Rotation {
	src := kasRotation()
	all := Range{Component: kas}
	row := func(signer string, ca Ref, targets ...Ref) Rotation {
		return Rotation{Signer: secret(kasOperator, signer), Bundle: ca, Targets: targets, In: all, Evidence: src}
	}
	return []Rotation{
		row("aggregator-client-signer", bundle(managed, "kube-apiserver-aggregator-client-ca"),
			secret(kasTarget, "aggregator-client")),
		row("kube-apiserver-to-kubelet-signer", bundle(kasOperator, "kube-apiserver-to-kubelet-client-ca"),
			secret(kasTarget, "kubelet-client")),
		row("localhost-serving-signer", bundle(kasOperator, "localhost-serving-ca"),
			secret(kasTarget, "localhost-serving-cert-certkey")),
		row("service-network-serving-signer", bundle(kasOperator, "service-network-serving-ca"),
			secret(kasTarget, "service-network-serving-certkey")),
		row("loadbalancer-serving-signer", bundle(kasOperator, "loadbalancer-serving-ca"),
			secret(kasTarget, "external-loadbalancer-serving-certkey"),
			secret(kasTarget, "internal-loadbalancer-serving-certkey")),
		row("localhost-recovery-serving-signer", bundle(kasOperator, "localhost-recovery-serving-ca"),
			secret(kasTarget, "localhost-recovery-serving-certkey")),
		row("kube-control-plane-signer", bundle(kasOperator, "kube-control-plane-signer-ca"),
			secret(managed, "kube-controller-manager-client-cert-key"),
			secret(managed, "kube-scheduler-client-cert-key"),
			secret(kasTarget, "control-plane-node-admin-client-cert-key"),
			secret(kasTarget, "check-endpoints-client-cert-key")),
		row("node-system-admin-signer", bundle(kasOperator, "node-system-admin-ca"),
			secret(kasOperator, "node-system-admin-client")),
	}
}
