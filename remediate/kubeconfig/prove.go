package kubeconfig

import (
	"bytes"
	"encoding/json"
	"reflect"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// view is a text as client-go sees it.
type view struct {
	// tree is the text in maps, lists and values of JSON, with all that client-go
	// has no use for.
	tree any
	// config leaves out what did not leave the node: client-go would refuse x
	// in place of a number or of base64.
	config *api.Config
}

// see reads a text as client-go does: with another parser of YAML than package
// yaml/v3 is, and older rules.
func see(text []byte) (view, error) {
	var v view
	err := guard(func() error {
		asJSON, err := pki.YAMLToJSON(text)
		if err != nil {
			return err
		}
		var known any
		if err := json.Unmarshal(asJSON, &known); err != nil {
			return err
		}
		if err := json.Unmarshal(asJSON, &v.tree); err != nil {
			return err
		}
		if asJSON, err = json.Marshal(unmasked(known)); err != nil {
			return err
		}
		v.config, err = clientcmd.Load(asJSON)
		return err
	})
	if err != nil {
		return view{}, refuse(reasonUnread, "client-go does not read the file (%s): correct it", Brief(err))
	}
	return v, nil
}

// unmasked removes what did not leave the node. An entry of a list goes with its
// name: two overwritten ones would look like the same one.
func unmasked(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if text, ok := value.(string); masked(key) || ok && masked(text) {
				delete(v, key)
				continue
			}
			v[key] = unmasked(value)
		}
	case []any:
		kept := []any{}
		for _, entry := range v {
			fields, _ := entry.(map[string]any)
			if name, ok := fields["name"].(string); ok && masked(name) {
				continue
			}
			kept = append(kept, unmasked(entry))
		}
		return kept
	}
	return v
}

// agrees reports whether client-go trusts this CA in this current context.
func (v view) agrees(context string, ca CA) bool {
	if v.config.CurrentContext != context || v.config.Contexts[context] == nil || v.config.Contexts[context].Cluster != ca.Cluster {
		return false
	}
	c := v.config.Clusters[ca.Cluster]
	return c != nil && (c.Server == ca.Server || masked(ca.Server)) && c.CertificateAuthority == "" && !c.InsecureSkipTLSVerify && bytes.Equal(c.CertificateAuthorityData, ca.PEM)
}

// cluster returns the fields of the cluster at this position; nil if there is no
// such thing.
func (v view) cluster(index int) map[string]any {
	root, _ := v.tree.(map[string]any)
	list, _ := root["clusters"].([]any)
	if index >= len(list) {
		return nil
	}
	entry, _ := list[index].(map[string]any)
	fields, _ := entry["cluster"].(map[string]any)
	return fields
}

// prove refuses a text that was made from this one unless it differs in the CA
// alone, which must be this value, base64 of this PEM, for both parsers.
func (f *file) prove(text []byte, value string, pem []byte) error {
	if err := plain(text); err != nil {
		return err
	}
	unproven := refuse(reasonUnproven, "changing the CA of cluster %q would change something else in the file: change it by hand", f.ca.Cluster)
	root, err := parse(text)
	if err != nil || !same(f.root, root, f.value, value) {
		return unproven
	}
	after, err := see(text)
	if err != nil {
		return unproven
	}

	was, is := f.view.cluster(f.index), after.cluster(f.index)
	if was == nil || is == nil || was[keyData] != f.value.Value || is[keyData] != value {
		return unproven
	}
	is[keyData] = f.value.Value
	if !reflect.DeepEqual(f.view.tree, after.tree) {
		return unproven
	}

	cluster := after.config.Clusters[f.ca.Cluster]
	if cluster == nil || !bytes.Equal(cluster.CertificateAuthorityData, pem) {
		return unproven
	}
	cluster.CertificateAuthorityData = f.ca.PEM
	if !reflect.DeepEqual(f.view.config, after.config) {
		return unproven
	}
	return nil
}
