package inspect

import "time"

// ClusterStatus is what the API server said at one moment that is asked before something is
// changed. It is no certificate, and true for that moment alone. A part that is nil was not
// read; one that could not be read has a gap.
type ClusterStatus struct {
	Read         time.Time // when its reading began, by this machine's clock; zero: not known
	ControlPlane *ControlPlaneStatus
	StaticPods   *PodList     // of kube-system, where no operator tells of them
	Signers      *SignersRead // what signs certificate requests, where operators keep it
	Network      *NetworkRead // what restarts of the network's pods depend on
	// Published is when the ConfigMap with the CAs of kubelets got the value that it has;
	// zero: not known.
	Published time.Time
}

// PodList is the pods of some namespaces.
type PodList struct {
	Pods []Pod
	Gap  *Gap // why not all were read; nil: they were
}

// SignersRead are catalog.CSRSigner and catalog.CSRSignerSource, of which it is a copy.
type SignersRead struct{ Signer, Source SignerRead }

// SignerRead is from when to when a certificate that signs is valid.
type SignerRead struct {
	NotBefore, NotAfter time.Time
	Asked               time.Time // what time it was at the API server; zero: not known
	Unread              string    // why it was not read; empty: it was
}

// NetworkRead is the network's pods, and how far the CAs have come that pods are given.
type NetworkRead struct {
	PodList
	Rollout Rollout
	// Unread says why not all of the rollout was read; empty: it was, or the pods were not.
	Unread string
}

// AsOf says when the status was read, where it is from a file: for the answer of a check that
// depends on the moment. Empty: it was read just now, or not at all.
func (s *Snapshot) AsOf() string {
	switch {
	case s.Status == nil || !s.Hints.file:
		return ""
	case s.Status.Read.IsZero():
		return "as of an unknown time"
	}
	return "as of " + s.Status.Read.UTC().Format("2006-01-02 15:04 MST")
}

// Unread is what could not be read of it, and why. Signers are Secrets, and those that may not
// be read are gaps of the snapshot itself.
func (s *ClusterStatus) Unread() []Gap {
	var out []Gap
	for _, g := range s.gaps() {
		out = append(out, *g)
	}
	if s != nil && s.Network != nil && s.Network.Unread != "" {
		out = append(out, Gap{What: "rollout of CAs", Reason: s.Network.Unread})
	}
	return out
}

// gaps are those of all parts.
func (s *ClusterStatus) gaps() []*Gap {
	if s == nil {
		return nil
	}
	var out []*Gap
	if s.ControlPlane != nil {
		for i := range s.ControlPlane.Gaps {
			out = append(out, &s.ControlPlane.Gaps[i])
		}
	}
	if s.StaticPods != nil && s.StaticPods.Gap != nil {
		out = append(out, s.StaticPods.Gap)
	}
	if s.Network != nil && s.Network.Gap != nil {
		out = append(out, s.Network.Gap)
	}
	return out
}
