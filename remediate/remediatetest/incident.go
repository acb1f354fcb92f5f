package remediatetest

import (
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki/pkitest"
)

// Incident are the CAs of okd-project/okd#1881: api-int's signer was replaced, and
// kubelets trust the old one alone.
type Incident struct {
	Old, Young, Localhost, Service *pkitest.Authority
	ConfigMap                      []byte // what kubelets are to trust
	Before                         []byte // what they do
}

// NewIncident is a CA that was replaced, an hour ago.
func NewIncident(now time.Time) Incident {
	return newIncidentBetween(now.Add(-24*time.Hour), now.Add(24*time.Hour))
}

func newIncidentBetween(from, to time.Time) Incident {
	in := Incident{
		Old:       pkitest.NewCA("kube-apiserver-lb-signer", from, to),
		Young:     pkitest.NewCA("loadbalancer-serving-signer", from, to),
		Localhost: pkitest.NewCA("kube-apiserver-localhost-signer", from, to),
		Service:   pkitest.NewCA("kube-apiserver-service-network-signer", from, to),
	}
	in.ConfigMap = pkitest.Bundle(in.Young.CertPEM, in.Localhost.CertPEM, in.Service.CertPEM)
	in.Before = pkitest.Bundle(in.Old.CertPEM, in.Localhost.CertPEM, in.Service.CertPEM)
	return in
}
