package inspectcmd

// pretrustKind is that of what refuses pretrust.
const pretrustKind = "Check before pretrust"

// pretrustTopics are the names by which pretrust is refused.
func pretrustTopics() []topic {
	const verifyAPIInt = "{} verify api-int"
	repair := []string{"see the plan that repairs them:", fixAPIInt}
	var out []topic
	for _, t := range []struct {
		claim string
		help
	}{
		{"the new CA of api-int signs nothing yet", help{"not-too-late", "api-int presents a certificate of the newest CA already, and kubelets lack that CA: they fail at their next reconnect or restart.", repair}},
		{"this version does not write the new CA to kubelets' kubeconfigs", help{"not-delivered", "machine-config-daemon writes the CA: pretrust is not needed.", []string{"see which node lacks it:", verifyAPIInt, "for a node that was left out:", fixAPIInt}}},
		{"the cluster is OpenShift or OKD", help{"openshift", "Nothing replaces the CA of another cluster automatically.", []string{"where kubelets lack a CA that kube-root-ca.crt has:", fixAPIInt}}},
		{"it is known whether this version writes the CA to kubelets", help{"version-known", "The version of the cluster was not read.", []string{"fix-api-int needs no version:", fixAPIInt}}},
		{"the CAs of api-int's signer were read", help{"signer-known", "Without them it is unknown which CA is new.", []string{"oc -n openshift-kube-apiserver-operator get configmap loadbalancer-serving-ca"}}},
		{"the certificate that api-int presents was read", help{"served-known", "Without it it is unknown whether the new CA signs already.", []string{"{} verify api-int --nodes all --via ssh"}}},
		{"a published CA verifies what api-int presents", help{"ca-verifies-served", "The control plane's own trust is wrong.", []string{verifyAPIInt}}},
	} {
		out = append(out, topic{kind: pretrustKind, claim: t.claim, help: t.help, details: reference("pretrust.md")})
	}
	return out
}
