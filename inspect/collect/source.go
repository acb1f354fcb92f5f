package collect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// Source is one origin of facts.
type Source interface {
	// Name says what is read, for progress and errors: "secrets", a file's name.
	Name() string
	// Collect reads everything it can. What it can't read is a gap in the
	// result. It returns early, with what it has and a gap, when ctx ends.
	Collect(ctx context.Context) inspect.Snapshot
}

// All collects from the sources in parallel and merges in their order.
func All(ctx context.Context, sources ...Source) inspect.Snapshot {
	parts := make([]part, len(sources))
	var g errgroup.Group
	for i, s := range sources {
		g.Go(func() error {
			if r, ok := s.(reader); ok {
				parts[i] = r.collect(ctx)
			} else {
				parts[i].Snapshot = s.Collect(ctx)
			}
			return nil
		})
	}
	_ = g.Wait() // no source returns an error: what fails is a gap
	m := merge(parts...)
	m.Sort()
	return m
}

// part is what one source found. Bundles stay in the pages in which they came
// until those of all sources are put together: there may be tens of thousands,
// and each copy on the way would be there beside the last one.
type part struct {
	inspect.Snapshot
	pages [][]inspect.Bundle
}

// merge puts parts together, in order.
func merge(parts ...part) inspect.Snapshot {
	snapshots := make([]inspect.Snapshot, len(parts))
	var pages [][]inspect.Bundle
	for i, p := range parts {
		pages = append(append(pages, p.Bundles), p.pages...)
		p.Bundles = nil
		snapshots[i] = p.Snapshot
	}
	m := inspect.Merge(snapshots...)
	m.Bundles = slices.Concat(pages...)
	return m
}

// Resource is one kind of object that certrot reads.
type Resource struct {
	Kind       pki.Kind
	Plural     string // as in kubectl get; with its group where another kind is called the same
	short      string
	apiVersion string // "v1", "apps/v1"
	Namespaced bool
}

// Has reports whether a place is in an object of the resource. Two kinds are called
// Ingress, and only Kubernetes' own has a namespace.
func (r Resource) Has(at pki.Location) bool {
	return r.Kind == at.Kind && (r.Kind != kindIngress || r.Namespaced == (at.Namespace != ""))
}

// isVersioned reports whether this is the version and the group of the resource, as kubectl takes
// them: v1.networking.k8s.io, and v1 with a dot where the group has no name.
func (r Resource) isVersioned(suffix string) bool {
	group, version, named := strings.Cut(r.apiVersion, "/")
	if !named {
		group, version = "", r.apiVersion
	}
	return version != "" && (suffix == version+"."+group || group == "" && suffix == version)
}

// ObjectName is what kubectl -o name prints of the object in which a place is: "secret/tls", with
// the group of the kind where it has one. A place in a file on a node is the node's; !ok: it is
// in no object.
func ObjectName(at pki.Location) (name string, ok bool) {
	if at.Kind == pki.KindFile {
		return "node/" + at.Node, at.Node != ""
	}
	kind := strings.ToLower(string(at.Kind))
	for _, r := range Resources() {
		if group, _, named := strings.Cut(r.apiVersion, "/"); r.Has(at) && named {
			kind += "." + group
		}
	}
	return kind + "/" + at.Name, at.Name != ""
}

// path is the plural as it stands in the API's paths.
func (r Resource) path() string {
	plural, _, _ := strings.Cut(r.Plural, ".")
	return plural
}

// Resources returns every kind of object that is read over the API, in the
// order in which they are listed to people.
func Resources() []Resource {
	return []Resource{
		{"Secret", "secrets", "", "v1", true},
		{"ConfigMap", "configmaps", "cm", "v1", true},
		{"ValidatingWebhookConfiguration", "validatingwebhookconfigurations", "", admissionV1, false},
		{"MutatingWebhookConfiguration", "mutatingwebhookconfigurations", "", admissionV1, false},
		{"APIService", "apiservices", "", apiregistrationV1, false},
		{"CustomResourceDefinition", "customresourcedefinitions", "crd", apiextensionsV1, false},
		{"CertificateSigningRequest", "certificatesigningrequests", "csr", certificatesV1, false},
		{kindIngress, kubernetesName, "ing", networkingV1, true},
		{"Route", "routes", "", routeV1, true},
		{"ControllerConfig", "controllerconfigs", "", machineV1, false},
		{"MachineConfig", "machineconfigs", "mc", machineV1, false},
		{"MachineConfigPool", "machineconfigpools", "mcp", machineV1, false},
		{"Proxy", "proxies", "", configAPI, false},
		{"APIServer", "apiservers", "", configAPI, false},
		{"Image", "images", "", configAPI, false},
		{"OAuth", "oauths", "", configAPI, false},
		{"Ingress", "ingresses", "", configAPI, false},
		{"IngressController", "ingresscontrollers", "", operatorV1, true},
	}
}

const (
	admissionV1       = "admissionregistration.k8s.io/v1"
	apiregistrationV1 = "apiregistration.k8s.io/v1"
	apiextensionsV1   = "apiextensions.k8s.io/v1"
	certificatesV1    = "certificates.k8s.io/v1"
)

// NodeFiles is what is read on nodes, among the kinds that users name.
func NodeFiles() Resource { return Resource{Kind: pki.KindFile, Plural: "nodes", short: "no"} }

// ParseResource finds resources by what a user of kubectl types: plural,
// singular, short name, each with or without the group, or the version and the group
// ("secrets.v1."); "webhooks" means both kinds of webhook configuration.
func ParseResource(word string) ([]Resource, error) {
	name, group, _ := strings.Cut(strings.ToLower(word), ".")
	var found []Resource
	for _, r := range append(Resources(), NodeFiles()) {
		// an alias without a group, as "webhooks" is no API name
		if word == "webhooks" && r.apiVersion == admissionV1 {
			found = append(found, r)
			continue
		}
		singular := strings.ToLower(string(r.Kind))
		if r.Plural == "nodes" {
			singular = "node"
		}
		apiGroup, _, hasGroup := strings.Cut(r.apiVersion, "/")
		if name != r.path() && name != singular && (name != r.short || r.short == "") && (name != r.short+"s" || r.short == "") {
			continue
		}
		if group == "" || (hasGroup && group == apiGroup) || r.isVersioned(group) {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%q is not a kind that certrot reads", word)
	}
	return found, nil
}

// Now is the time of reading: a fact, which is why it is read here and
// nowhere else below plugin.
func Now() time.Time { return clock().Truncate(time.Second) }

// clock is the time of a fact, to the nanosecond.
func clock() time.Time {
	return time.Now().UTC() //nolint:forbidigo // see Now
}
