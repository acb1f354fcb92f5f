// Package multus names, as tools in its go.mod, the programs of multus-cni that the
// lab's nodes run: the real ones, for OpenShift's network as far as api-int matters to
// it. It is a module of its own so that Kubernetes' dependencies stay what they are,
// and is built only where it is asked for.
package multus
