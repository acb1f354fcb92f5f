package catalog

// The scheduler's operator builds its own serviceaccount-ca from the same
// parts.
const (
	scheduler       = "kube-scheduler"
	schedulerOwner  = "kube-scheduler-operator"
	schedulerTarget = "openshift-kube-scheduler"
	schedulerRepo   = "openshift/cluster-kube-scheduler-operator "
	schedulerRead   = "release-4.12 a0e7f248a to release-4.22 51ea59abd, each branch, release-4.23 and release-5.0 56fa32546 (2026-11-26)"

	schedulerSecondWriter = "the " + recoveryController + " beside kube-scheduler"
)

func schedulerPlaces() []Place {
	all := Range{Component: scheduler}
	return []Place{
		{Ref: bundle(schedulerTarget, "serviceaccount-ca"), Role: CABundle, Owner: schedulerOwner, Doc: "what kube-scheduler trusts as kube-apiserver; a change rolls out a new revision", In: all,
			Evidence: Evidence{Verified, schedulerRepo + "pkg/operator/targetconfigcontroller/targetconfigcontroller.go @ " + schedulerRead}},
		{Ref: secret(schedulerTarget, "kube-scheduler-client-cert-key"), Role: Client, Owner: schedulerOwner, SecondWriter: schedulerSecondWriter, Doc: "kube-scheduler's client certificate, a copy", Lifetimes: kasMonth(), In: all,
			Evidence: Evidence{Verified, schedulerRepo + "pkg/operator/resourcesynccontroller/resourcesynccontroller.go and pkg/cmd/recoverycontroller @ " + schedulerRead}},
		{Ref: Ref{Kind: Secret, Namespace: schedulerTarget, Name: "localhost-recovery-client-token"}, Role: Token, Owner: schedulerOwner, Writer: "kube-controller-manager", Doc: "service account token for recovery, with the CA beside it", In: all,
			Evidence: Evidence{Verified, schedulerRepo + "pkg/operator/starter.go @ " + schedulerRead}},
	}
}

func schedulerAggregates() []Aggregate {
	all := Range{Component: scheduler}
	return []Aggregate{
		{Target: bundle(schedulerTarget, "serviceaccount-ca"), Relation: Union, In: all,
			Parts:    []Ref{bundle(managed, "kube-apiserver-server-ca"), bundle(managed, "default-ingress-cert")},
			Evidence: Evidence{Verified, schedulerRepo + "pkg/operator/targetconfigcontroller/targetconfigcontroller.go @ " + schedulerRead}},
		{Target: secret(schedulerTarget, "kube-scheduler-client-cert-key"), Relation: Copy, In: all,
			Parts:    []Ref{secret(managed, "kube-scheduler-client-cert-key")},
			Evidence: Evidence{Verified, schedulerRepo + "pkg/operator/resourcesynccontroller/resourcesynccontroller.go @ " + schedulerRead}},
	}
}

// SchedulerCA is what kube-scheduler trusts. Its revisions are beside it: their names end in a number.
func SchedulerCA() Ref { return bundle(schedulerTarget, "serviceaccount-ca") }
