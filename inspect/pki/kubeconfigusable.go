package pki

import (
	"fmt"
	"slices"
	"strings"
)

// UnusableKubeconfig says why client-go makes no client of a text's current context; nil: it
// does. Else it is as refusesKubeconfig. A context or a cluster that is not there is for the
// caller to judge. Whether files that it names are there is not judged, nor what proxy-url
// says: it stays on its node.
func UnusableKubeconfig(text []byte) error {
	k, err := loadKubeconfig(text, nil)
	if err != nil {
		return err
	}
	return k.unusable()
}

// unusable has the rules of client-go's DirectClientConfig.ClientConfig and
// tools/clientcmd/validation.go (v0.35).
func (k *kubeconfig) unusable() error {
	at := slices.IndexFunc(k.Contexts, func(c kubeContext) bool { return c.Name == k.Current })
	if at < 0 {
		return nil
	}
	context := k.Contexts[at].Context
	if i := slices.IndexFunc(k.Clusters, func(c kubeCluster) bool { return c.Name == context.Cluster }); i >= 0 {
		if k.Clusters[i].Cluster.Server == "" {
			return fmt.Errorf("client-go does not accept clusters[%d]: it has no server", i)
		}
	}
	// A user that is not there is one without credentials.
	if i := slices.IndexFunc(k.Users, func(u kubeUser) bool { return u.Name == context.User }); i >= 0 {
		if why := k.Users[i].unusable(); why != "" {
			return fmt.Errorf("client-go does not accept users[%d]: %s", i, why)
		}
	}
	return nil
}

// isMasked reports whether a value stayed on its node.
func isMasked(value string) bool { return value != "" && strings.Trim(value, "x") == "" }

func (u *kubeUser) unusable() string {
	is := u.User
	certificate := is.CertFile != "" || len(is.CertData) > 0
	switch {
	case certificate && is.CertFile != "" && len(is.CertData) > 0:
		return "it has client-certificate beside client-certificate-data"
	case certificate && is.KeyFile != "" && len(is.KeyData) > 0:
		return "it has client-key beside client-key-data"
	case certificate && is.KeyFile == "" && len(is.KeyData) == 0:
		return "it has a client certificate without its key"
	case is.Token != "" && (is.Username != "" || is.Password != ""):
		return "it has a token beside a password"
	case is.As == "" && (is.AsUID != "" || len(is.AsGroups) > 0 || len(is.AsExtra) > 0):
		return "it impersonates groups or a UID without a user"
	case is.Exec != nil && is.Provider != nil:
		return "it has exec beside auth-provider"
	case is.Exec != nil:
		return is.Exec.unusable()
	}
	return ""
}

func (e *kubeExec) unusable() string {
	// These versions have a default for interactiveMode.
	older := []string{"client.authentication.k8s.io/v1beta1", "client.authentication.k8s.io/v1alpha1"}
	hasDefault := slices.ContainsFunc(older, func(version string) bool {
		return e.APIVersion == version || isMasked(e.APIVersion) && len(e.APIVersion) == len(version)
	})
	switch {
	case e.Command == "":
		return "its exec has no command"
	case e.APIVersion == "":
		return "its exec has no apiVersion"
	case e.InteractiveMode == "" && !hasDefault:
		return "its exec has no interactiveMode"
	case e.InteractiveMode != "" && !isMasked(e.InteractiveMode) && !slices.Contains([]string{"Never", "IfAvailable", "Always"}, e.InteractiveMode):
		return "its exec has an interactiveMode that is none"
	}
	for _, variable := range e.Env {
		if variable.Name == "" {
			return "its exec has a variable without a name"
		}
	}
	return ""
}
