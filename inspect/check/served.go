package check

import (
	"fmt"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// apiTrusted holds each kubeconfig against what was served.
func apiTrusted(f *inspect.Facts) []assess.Finding {
	found := map[string]*assess.Finding{}
	var order []string
	for _, n := range nodesRead(f) {
		for _, k := range n.Kubeconfigs {
			if c, ok := k.InUse(); !ok || !c.CAData || c.Masked || c.Insecure {
				continue // kubeconfig-sound speaks of these
			}
			client, err := trust.ClientOf(&f.Snapshot, n, k)
			if err != nil && client.Address == "" {
				continue
			}
			served, ok := client.Served()
			if !ok {
				continue
			}
			err = client.Refuses(served.Chain, f.Now)
			if err == nil {
				continue
			}
			message := fmt.Sprintf("the CA in this file does not verify the certificate presented at %s: %s", client.Address, err)
			next := f.Hints().Next("{} fix-api-int --nodes NAME prints the fix, and asks before it applies it")
			if len(served.Chain) > 0 {
				message += fmt.Sprintf(" (%s, issued by %s)", inspect.CertName(served.Chain[0]), foreign.QuotedName(pki.CommonName(served.Chain[0].Issuer)))
			}
			if found[message] == nil {
				found[message] = &assess.Finding{Assessment: assess.Assessment{Severity: assess.Critical, Reason: message, Remediation: assess.Advise(next)}}
				order = append(order, message)
			}
			found[message].At = append(found[message].At, inspect.OnNode(n, k.Path))
		}
	}
	var out []assess.Finding
	for _, m := range order {
		out = append(out, *found[m])
	}
	return out
}

func kubeletLoaded(f *inspect.Facts) []assess.Finding {
	var out []assess.Finding
	for _, n := range nodesRead(f) {
		if own := n.OutdatedKubeconfig(); own != "" {
			out = append(out, assess.Finding{
				Assessment: assess.Assessment{
					Severity:    assess.Warning,
					Reason:      fmt.Sprintf("the kubelet on %s runs since %s and has not read %s, changed %s", n.Name, day(n.Kubelet.Started), own, day(n.File(own).Modified)),
					Remediation: assess.Advise("systemctl restart kubelet on the node, after a look at the file: pods keep running"),
				},
				At: []pki.Location{inspect.OnNode(n, own)},
			})
		}
	}
	return out
}
