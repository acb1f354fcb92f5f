package collect

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// OpenShift's own kinds, each read by the fields that are known to hold
// certificates, or to name what does: the same over the API, in a file and in a
// must-gather, so that a place is called the same wherever it was read. What else
// stands in such objects, as the pull secret of a ControllerConfig, is not looked
// at.

// The groups, and where what they name is kept.
const (
	routeV1    = "route.openshift.io/v1"
	machineV1  = "machineconfiguration.openshift.io/v1"
	configAPI  = configGroup + "/v1"
	operatorV1 = "operator.openshift.io/v1"

	userConfig = "openshift-config"
	routers    = "openshift-ingress"
	// ingressOperator is where IngressControllers are: its operator looks nowhere else
	// (openshift/cluster-ingress-operator pkg/operator/operator.go @ acca9642a).
	ingressOperator = "openshift-ingress-operator"
	bundleKey       = "ca-bundle.crt"
)

// readOpenShift reads an object of OpenShift's own kinds, or one of Kubernetes that names
// others; false for any other. It
// returns what it could read beside an error.
func readOpenShift(sc *pki.Scanner, apiVersion string, obj *inspect.Object, raw []byte) (inspect.Snapshot, bool, error) {
	r := &objectReader{sc: scannerFor(sc, obj.Namespace), obj: obj}
	read := map[string]func([]byte) error{
		routeV1 + " Route":                r.route,
		machineV1 + " ControllerConfig":   r.controllerConfig,
		machineV1 + " MachineConfig":      r.machineConfig,
		machineV1 + " MachineConfigPool":  r.machineConfigPool,
		configAPI + " Proxy":              r.proxy,
		configAPI + " APIServer":          r.apiServer,
		configAPI + " Image":              r.image,
		configAPI + " OAuth":              r.oauth,
		configAPI + " Ingress":            r.ingress,
		operatorV1 + " IngressController": r.ingressController,
		networkingV1 + " Ingress":         r.kubernetesIngress,
	}[apiVersion+" "+string(obj.Kind)]
	if read == nil {
		return inspect.Snapshot{}, false, nil
	}
	err := read(raw)
	switch {
	case err != nil:
		err = fmt.Errorf("decode %s: %w", foreign.Text(obj.ID()), undecoded(err))
	case r.odd > 0:
		err = fmt.Errorf("%s: %s not base64, as in a redacted file: their content is unknown", obj.ID(), numbered(r.odd, "value is", "values are"))
	}
	return r.found, true, err
}

// objectReader gathers what one object holds, says and refers to.
type objectReader struct {
	sc    *pki.Scanner // of its namespace
	obj   *inspect.Object
	found inspect.Snapshot
	odd   int  // values that are not base64
	cut   bool // not all of what it refers to is kept
}

func (r *objectReader) at(field string) pki.Location {
	return pki.Location{Kind: r.obj.Kind, Namespace: r.obj.Namespace, Name: r.obj.Name, Field: field}
}

// certificates scans a field that is there for certificates.
func (r *objectReader) certificates(field string, value []byte) {
	r.found.Bundles = append(r.found.Bundles, bundlesOf(r.sc, r.obj, map[string][]byte{field: value}, false)...)
}

// scan scans a field that may hold anything. What is found inside a document there
// is called FIELD#PATH.
func (r *objectReader) scan(field, value string) {
	r.add(field, r.sc.Scan([]byte(value)))
}

func (r *objectReader) add(field string, found []pki.Found) {
	if len(found) > 0 {
		charge(r.sc, r.obj)
	}
	for _, f := range found {
		at := r.at(field)
		if f.Field != "" {
			at.Field += "#" + f.Field
		}
		r.found.Bundles = append(r.found.Bundles, inspect.Bundle{At: at, Object: r.obj, Content: f.Content})
	}
}

// encoded scans a field that the API writes as base64. In an edited or redacted
// file it may be anything.
func (r *objectReader) encoded(field, value string) {
	decoded, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		r.odd++
		return
	}
	r.certificates(field, decoded)
}

// refers notes that a field names another object; most are empty. An object may have a hundred thousand.
func (r *objectReader) refers(field string, to pki.Location) {
	const bytesOfReference = 500 // about, and in a slice that grows
	switch {
	case to.Name == "" || r.cut:
	case r.sc.Keep(bytesOfReference + len(field) + len(to.Name)):
		r.found.References = append(r.found.References, inspect.Reference{From: r.at(field), To: to})
	default:
		r.cut = true
		r.add(field, r.sc.LeftOut())
	}
}

func secretAt(namespace string, to objectName) pki.Location {
	return pki.Location{Kind: "Secret", Namespace: namespace, Name: to.Name, Key: "tls.crt"}
}

func bundleAt(to objectName) pki.Location {
	return pki.Location{Kind: "ConfigMap", Namespace: userConfig, Name: to.Name, Key: bundleKey}
}

// objectName is how the configuration names an object; its namespace is fixed.
type objectName struct {
	Name string `json:"name"`
}

func (r *objectReader) controllerConfig(raw []byte) error {
	var o struct {
		Spec struct {
			KubeAPIServerServingCAData  string           `json:"kubeAPIServerServingCAData"`
			RootCAData                  string           `json:"rootCAData"`
			CloudProviderCAData         string           `json:"cloudProviderCAData"`
			AdditionalTrustBundle       string           `json:"additionalTrustBundle"`
			ImageRegistryBundleData     []registryBundle `json:"imageRegistryBundleData"`
			ImageRegistryBundleUserData []registryBundle `json:"imageRegistryBundleUserData"`
		} `json:"spec"`
		Status struct {
			ControllerCertificates []struct {
				Subject    string      `json:"subject"`
				Signer     string      `json:"signer"`
				NotBefore  metav1.Time `json:"notBefore"`
				NotAfter   metav1.Time `json:"notAfter"`
				BundleFile string      `json:"bundleFile"`
			} `json:"controllerCertificates"`
		} `json:"status"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return err
	}
	r.encoded("spec.kubeAPIServerServingCAData", o.Spec.KubeAPIServerServingCAData)
	r.encoded("spec.rootCAData", o.Spec.RootCAData)
	r.encoded("spec.cloudProviderCAData", o.Spec.CloudProviderCAData)
	r.encoded("spec.additionalTrustBundle", o.Spec.AdditionalTrustBundle)
	for i, b := range o.Spec.ImageRegistryBundleData {
		r.encoded("spec.imageRegistryBundleData["+plainKey(b.File, i)+"]", b.Data)
	}
	for i, b := range o.Spec.ImageRegistryBundleUserData {
		r.encoded("spec.imageRegistryBundleUserData["+plainKey(b.File, i)+"]", b.Data)
	}
	for i, c := range o.Status.ControllerCertificates {
		r.found.Reported = append(r.found.Reported, inspect.Reported{
			At: r.at(fmt.Sprintf("status.controllerCertificates[%d]", i)), Bundle: c.BundleFile,
			Subject: c.Subject, Signer: c.Signer, NotBefore: utc(c.NotBefore.Time), NotAfter: utc(c.NotAfter.Time),
		})
	}
	return nil
}

func (r *objectReader) machineConfigPool(raw []byte) error {
	type configuration struct {
		Configuration objectName `json:"configuration"`
	}
	var o struct {
		Spec   configuration `json:"spec"`
		Status struct {
			configuration
			CertExpirys []struct {
				Bundle  string      `json:"bundle"`
				Subject string      `json:"subject"`
				Expiry  metav1.Time `json:"expiry"`
			} `json:"certExpirys"`
		} `json:"status"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return err
	}
	r.refers("spec.configuration.name", pki.Location{Kind: "MachineConfig", Name: o.Spec.Configuration.Name})
	r.refers("status.configuration.name", pki.Location{Kind: "MachineConfig", Name: o.Status.Configuration.Name})
	for i, c := range o.Status.CertExpirys {
		r.found.Reported = append(r.found.Reported, inspect.Reported{
			At: r.at(fmt.Sprintf("status.certExpirys[%d]", i)), Bundle: c.Bundle, Subject: c.Subject, NotAfter: utc(c.Expiry.Time),
		})
	}
	return nil
}

// openShift reads kinds of OpenShift's own, in parallel. Those that this cluster
// does not serve are one line together: a plain Kubernetes has none of them.
func (c *Cluster) openShift(ctx context.Context, kinds []Resource) part {
	served := map[string]func() bool{}
	for _, r := range kinds {
		group, _, _ := strings.Cut(r.apiVersion, "/")
		// RBAC answers "forbidden" for groups that do not exist, too. The group itself is
		// the API server's own answer, also where another server has its objects.
		served[r.apiVersion] = sync.OnceValue(func() bool { return c.serves(ctx, "/apis/"+group) })
	}
	parts := make([]part, len(kinds))
	var g errgroup.Group
	for i, r := range kinds {
		g.Go(func() error {
			if served[r.apiVersion]() {
				parts[i] = c.openShiftKind(ctx, r)
			} else {
				parts[i].Reads = []inspect.Read{notServed(r.Plural, "")}
			}
			return nil
		})
	}
	_ = g.Wait() // none returns an error: what fails is a gap
	var missing []string
	for i := range parts {
		if reads := parts[i].Reads; len(reads) == 1 && reads[0] == notServed(kinds[i].Plural, reads[0].Where) {
			missing = append(missing, kinds[i].Plural)
			parts[i].Reads = nil
		}
	}
	out := part{Snapshot: inspect.Merge(snapshots(parts)...)}
	for _, p := range parts {
		out.pages = append(out.pages, p.pages...)
	}
	if len(missing) > 0 {
		out.Reads = append(out.Reads, notServed(strings.Join(missing, ", "), c.Scope.Namespace))
	}
	return out
}

func snapshots(parts []part) []inspect.Snapshot {
	out := make([]inspect.Snapshot, len(parts), len(parts)+1)
	for i, p := range parts {
		out[i] = p.Snapshot
	}
	return append(out, inspect.Snapshot{}) // of one alone, too: a copy
}

func notServed(what, where string) inspect.Read {
	return inspect.Read{What: what, Where: where, Skipped: true, Note: "not served by this cluster"}
}

// openShiftKind reads one kind.
func (c *Cluster) openShiftKind(ctx context.Context, r Resource) part {
	in := func(namespace string, t *tally) page { return c.objectPage(r, namespace, t) }
	if r.apiVersion == routeV1 {
		in = untilDown(in)
	}
	switch {
	case r.Kind == "IngressController" && c.Scope.Namespace != "" && c.Scope.Namespace != ingressOperator:
		return part{} // there is none, and asking is what few may
	case r.Kind == "IngressController":
		there := *c
		there.Scope.Namespace = ingressOperator
		return there.namespaced(ctx, r.Plural, in)
	case r.Namespaced:
		return c.namespaced(ctx, r.Plural, in)
	}
	t := &tally{what: r.Plural, observe: c.Observe}
	return c.wholeOrNamed(ctx, t, func(opts metav1.ListOptions) listing { return listPages(ctx, opts, in("", t)) })
}

// objectPage reads one page of a kind, object by object: of a page of
// MachineConfigs, megabytes of it, one is in memory at a time.
func (c *Cluster) objectPage(r Resource, namespace string, t *tally) page {
	path := "/apis/" + r.apiVersion + "/"
	if namespace != "" {
		path += "namespaces/" + namespace + "/"
	}
	path += r.Plural
	return func(ctx context.Context, opts metav1.ListOptions) (metav1.ListMeta, error) {
		opts.Limit = min(opts.Limit, pageOf(r.Kind))
		body, err := withOptions(c.REST.Get().AbsPath(path), opts).Stream(ctx)
		if err != nil {
			return metav1.ListMeta{}, err
		}
		defer func() { _ = body.Close() }() // read only
		var found inspect.Snapshot
		n := 0
		meta, err := readJSONList(body, func(dec *json.Decoder) error {
			var raw json.RawMessage
			var o namedObject
			if err := dec.Decode(&raw); err != nil {
				return err
			}
			if err := decodeWithoutUnparsableTimes(raw, &o); err != nil {
				return err
			}
			obj := objectOf(r.Kind, &o.Metadata)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			one, _, err := readOpenShift(c.Scanner.Within(ctx), r.apiVersion, obj, raw)
			if err != nil { // the others are read all the same
				one.Gaps = append(one.Gaps, inspect.Gap{What: r.Plural, Where: foreign.Text(obj.ID()), Reason: err.Error(), Next: "look at that object: " + foreign.Command("", "kubectl get %s %s -o yaml", r.Plural, obj.Name)})
			}
			take(&found, one)
			n++
			return nil
		})
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return meta, fmt.Errorf("decode %s: %w", path, undecoded(err))
		}
		t.take(found) // only now that the page came whole
		t.count(n)
		return meta, nil
	}
}

// take adds what an object holds, says and refers to.
func take(to *inspect.Snapshot, s inspect.Snapshot) {
	to.Bundles = append(to.Bundles, s.Bundles...)
	to.Reported = append(to.Reported, s.Reported...)
	to.References = append(to.References, s.References...)
	to.Gaps = append(to.Gaps, s.Gaps...)
}

// pageOf is how many objects of a kind are asked for at once. A rendered
// MachineConfig has hundreds of kilobytes, and a cluster may keep hundreds.
func pageOf(kind pki.Kind) int64 {
	switch kind {
	case "MachineConfig":
		return 10
	case "Route":
		return pageSize
	}
	return jsonPageSize
}

const (
	// aggregatedWait bounds a page of an API that another server has: that one may
	// be down while the API server is not, and then calls to it fail, or hang.
	aggregatedWait = 10 * time.Second
	// aggregatedTries is how often it may fail without an answer between.
	aggregatedTries = 2 * namespacesAtOnce
)

// untilDown gives up on a list, in all namespaces, once the server behind it was
// silent for too long or failed too often.
func untilDown(in func(string, *tally) page) func(string, *tally) page {
	var down atomic.Pointer[error]
	var failures atomic.Int32
	return func(namespace string, t *tally) page {
		fetch := in(namespace, t)
		return func(ctx context.Context, opts metav1.ListOptions) (metav1.ListMeta, error) {
			if err := down.Load(); err != nil {
				return metav1.ListMeta{}, *err
			}
			limited, cancel := context.WithTimeout(ctx, aggregatedWait)
			defer cancel()
			meta, err := fetch(limited, opts)
			switch {
			case err == nil:
				failures.Store(0)
			case limited.Err() != nil && ctx.Err() == nil:
				err = fmt.Errorf("no answer within %s", aggregatedWait)
				down.Store(&err)
			case transient(err) && failures.Add(1) >= aggregatedTries:
				err = errors.New(err.Error()) // its text alone, or it would be tried again
				down.Store(&err)
			}
			return meta, err
		}
	}
}
