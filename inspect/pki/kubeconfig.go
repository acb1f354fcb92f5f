package pki

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// The types of a kubeconfig as client-go reads it (k8s.io/client-go
// tools/clientcmd/api/v1, v0.35): a value of another type makes it refuse all of the file.
type (
	kubeconfig struct {
		Kind        string `json:"kind"`
		APIVersion  string `json:"apiVersion"`
		Preferences struct {
			Colors     bool            `json:"colors"`
			Extensions []kubeExtension `json:"extensions"`
		} `json:"preferences"`
		Clusters   []kubeCluster   `json:"clusters"`
		Users      []kubeUser      `json:"users"`
		Contexts   []kubeContext   `json:"contexts"`
		Current    string          `json:"current-context"`
		Extensions []kubeExtension `json:"extensions"`
	}
	kubeCluster struct {
		Name    string `json:"name"`
		Cluster struct {
			Server             string          `json:"server"`
			ServerName         string          `json:"tls-server-name"`
			Insecure           bool            `json:"insecure-skip-tls-verify"`
			CAFile             string          `json:"certificate-authority"`
			CAData             []byte          `json:"certificate-authority-data"`
			ProxyURL           string          `json:"proxy-url"`
			DisableCompression bool            `json:"disable-compression"`
			Extensions         []kubeExtension `json:"extensions"`
		} `json:"cluster"`
	}
	kubeUser struct {
		Name string `json:"name"`
		User struct {
			CertFile  string              `json:"client-certificate"`
			CertData  []byte              `json:"client-certificate-data"`
			KeyFile   string              `json:"client-key"`
			KeyData   []byte              `json:"client-key-data"`
			Token     string              `json:"token"`
			TokenFile string              `json:"tokenFile"`
			As        string              `json:"as"`
			AsUID     string              `json:"as-uid"`
			AsGroups  []string            `json:"as-groups"`
			AsExtra   map[string][]string `json:"as-user-extra"`
			Username  string              `json:"username"`
			Password  string              `json:"password"`
			Provider  *struct {
				Name   string            `json:"name"`
				Config map[string]string `json:"config"`
			} `json:"auth-provider"`
			Exec       *kubeExec       `json:"exec"`
			Extensions []kubeExtension `json:"extensions"`
		} `json:"user"`
	}
	kubeExec struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
		Env     []struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"env"`
		APIVersion         string `json:"apiVersion"`
		InstallHint        string `json:"installHint"`
		ProvideClusterInfo bool   `json:"provideClusterInfo"`
		InteractiveMode    string `json:"interactiveMode"`
	}
	kubeContext struct {
		Name    string `json:"name"`
		Context struct {
			Cluster    string          `json:"cluster"`
			User       string          `json:"user"`
			Namespace  string          `json:"namespace"`
			Extensions []kubeExtension `json:"extensions"`
		} `json:"context"`
	}
	kubeExtension struct {
		Name      string          `json:"name"`
		Extension json.RawMessage `json:"extension"`
	}
)

// kubeconfigKeys are those of the types above that have a large letter, or that a
// mistake in letters' size would hide.
func kubeconfigKeys() []string {
	return strings.Fields("kind apiVersion preferences colors extensions clusters users contexts current-context name cluster server" +
		" tls-server-name insecure-skip-tls-verify certificate-authority certificate-authority-data proxy-url disable-compression user" +
		" client-certificate client-certificate-data client-key client-key-data token tokenFile as as-uid as-groups as-user-extra username" +
		" password auth-provider config exec command args env value installHint provideClusterInfo interactiveMode context namespace extension")
}

// refusesKubeconfig says why client-go does not load a text as a kubeconfig, or why that
// is not sure; nil: it loads it. It quotes no value. The text may be redacted, with x in
// place of each byte that stayed on its node.
func refusesKubeconfig(text []byte) error {
	_, err := loadKubeconfig(text, nil)
	return err
}

// maxKubeconfigPieces is what a kubeconfig may consist of: a cluster with its user and context is
// some twenty pieces.
const maxKubeconfigPieces = 20_000

var errLargeKubeconfig = errors.New("it is too large to be read as a kubeconfig")

// loadKubeconfig loads a text. tree is its first YAML document; nil: it was not parsed yet.
func loadKubeconfig(text []byte, tree *yamlv3.Node) (*kubeconfig, error) {
	if len(text) > maxYAML || Pieces(text) > maxKubeconfigPieces {
		return nil, errLargeKubeconfig
	}
	var failed error
	if tree == nil {
		if tree, failed = ParseYAML(text); errors.Is(failed, errDirectives) {
			return nil, failed
		}
	}
	asJSON := text
	if !json.Valid(text) {
		const neither = errKey("client-go can't read it: it is neither YAML nor JSON")
		if mayAlias(text) {
			if failed != nil {
				return nil, neither
			}
			if aliased(tree, map[*yamlv3.Node]int{}, 0) > maxAliasedKubeconfig {
				return nil, errAliased
			}
		}
		var err error
		if asJSON, err = plainYAMLToJSON(text); err != nil {
			return nil, neither
		}
	}
	if failed != nil {
		return nil, errors.New("it can't be read as YAML")
	}
	if err := ambiguous(tree); err != nil {
		return nil, err
	}
	k := &kubeconfig{}
	if err := json.Unmarshal(asJSON, k); err != nil {
		return nil, mistyped(err)
	}
	return k, k.refused()
}

// mistyped says which value client-go does not decode, and not what it is.
func mistyped(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("client-go does not load it: %s is of a wrong type", wrong.Field)
	}
	return fmt.Errorf("client-go does not load it: %w", err) // base64: where it is damaged
}

func (k *kubeconfig) refused() error {
	switch {
	case k.Kind != "" && k.Kind != "Config":
		return errors.New("client-go does not load it: kind is not Config")
	case k.APIVersion != "" && k.APIVersion != "v1":
		return errors.New("client-go does not load it: apiVersion is not v1")
	}
	lists := map[string][]string{"extensions": extensionNames(k.Extensions), "preferences.extensions": extensionNames(k.Preferences.Extensions)}
	for i, c := range k.Clusters {
		if len(c.Cluster.CAData) > 0 && c.Cluster.CAFile != "" {
			return fmt.Errorf("client-go does not accept clusters[%d]: it has certificate-authority beside certificate-authority-data", i)
		}
		lists["clusters"] = append(lists["clusters"], c.Name)
		lists[fmt.Sprintf("clusters[%d].cluster.extensions", i)] = extensionNames(c.Cluster.Extensions)
	}
	for i, u := range k.Users {
		lists["users"] = append(lists["users"], u.Name)
		lists[fmt.Sprintf("users[%d].user.extensions", i)] = extensionNames(u.User.Extensions)
	}
	for i, c := range k.Contexts {
		lists["contexts"] = append(lists["contexts"], c.Name)
		lists[fmt.Sprintf("contexts[%d].context.extensions", i)] = extensionNames(c.Context.Extensions)
	}
	for list, names := range lists {
		seen := map[string]bool{}
		for _, name := range names {
			if !isNew(seen, name) {
				return fmt.Errorf("client-go does not load it: two entries of %s have one name", list)
			}
		}
	}
	return nil
}

func extensionNames(list []kubeExtension) (out []string) {
	for _, e := range list {
		out = append(out, e.Name)
	}
	return out
}

// ambiguous refuses keys that are there twice, or that differ from a known one in the
// size of letters: readers differ on which one counts.
func ambiguous(root *yamlv3.Node) error {
	known := map[string]string{}
	for _, key := range kubeconfigKeys() {
		known[strings.ToLower(key)] = key
	}
	return twice(root, known, 0)
}

func twice(n *yamlv3.Node, known map[string]string, depth int) error {
	if depth > maxNesting {
		return errTooDeep
	}
	seen := map[string]bool{}
	for i, child := range n.Content {
		if n.Kind == yamlv3.MappingNode && i%2 == 0 {
			key := child.Value
			is, ok := known[strings.ToLower(key)]
			if ok && is != key {
				return fmt.Errorf("line %d has the key %s in letters of another size, which client-go ignores", child.Line, is)
			}
			if masked := strings.Trim(key, "x") == ""; !masked && !isNew(seen, key) {
				return fmt.Errorf("line %d has a key for the second time", child.Line)
			}
		}
		if err := twice(child, known, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// maxKubeconfigInValue is the size of the largest kubeconfig in a value that is read as such. A
// value may hold hundreds of them.
const maxKubeconfigInValue = 256 << 10

// refusesKubeconfig is that for what is in a value, with its first YAML document, if it was parsed.
func (w *walk) refusesKubeconfig(text []byte, tree *yamlv3.Node) error {
	if len(text) > maxKubeconfigInValue || Pieces(text) > maxKubeconfigPieces {
		return errLargeKubeconfig
	}
	if err := w.scanner.Over(); err != nil {
		return err
	}
	times := 1 // client-go's parser
	if tree == nil {
		times++
	}
	if err := w.payYAML(times * len(text)); err != nil {
		return err
	}
	_, err := loadKubeconfig(text, tree)
	return err
}

// refusals marks the CAs of a kubeconfig that client-go does not load: no client that is
// given it trusts them.
func (w *walk) refusals(data []byte, tree *yamlv3.Node, at place) {
	const key = ".cluster.certificate-authority-data"
	prefix := ""
	if at.field != "" {
		prefix = at.field + "#"
	}
	var reason string
	judged := false
	for _, e := range w.results.order {
		path, ok := strings.CutPrefix(e.field, prefix)
		path, isCA := strings.CutSuffix(path, key)
		if !ok || !isCA || len(e.content.Certs) == 0 {
			continue
		}
		if strings.HasPrefix(path, "(") && strings.Contains(path, ")clusters[") {
			e.skipAll(0, whyFurther)
			continue
		}
		if !strings.HasPrefix(path, "clusters[") || strings.Contains(path, "#") {
			continue
		}
		if !judged {
			judged = true
			if err := w.refusesKubeconfig(data, tree); err != nil {
				reason = err.Error()
			}
		}
		if reason != "" {
			e.skipAll(0, reason)
		}
	}
}

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
