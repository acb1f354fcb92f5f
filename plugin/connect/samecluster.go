package connect

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
)

// otherCluster tells by what two files are of different clusters; differ is false where they
// are of one, or where nothing tells. A cluster that is no OpenShift has no ID: its server tells.
func otherCluster(a, b inspect.Cluster) (nameA, nameB string, differ bool) {
	if a.ID != "" && b.ID != "" {
		return a.ID, b.ID, a.ID != b.ID
	}
	return a.Server, b.Server, a.Server != "" && b.Server != "" && !mayBeOne(a, b)
}

// OtherCluster reports whether two are different clusters, as far as they tell.
func OtherCluster(a, b inspect.Cluster) bool {
	_, _, differ := otherCluster(a, b)
	return differ
}

// SameCluster reports whether two are taken for one cluster for sure: by their ID, or, where one has
// none, by their server. One on this machine may be a tunnel to any.
func SameCluster(a, b inspect.Cluster) bool {
	if a.ID != "" && b.ID != "" {
		return a.ID == b.ID
	}
	host, _ := endpoint(a.Server)
	ip, err := netip.ParseAddr(host)
	return a.Server != "" && a.Server == b.Server && (!anyCluster(host) || err == nil && !ip.IsLoopback())
}

// mayBeOne reports whether the servers of two clusters may be names of one.
func mayBeOne(a, b inspect.Cluster) bool {
	hostA, pathA := endpoint(a.Server)
	hostB, pathB := endpoint(b.Server)
	switch {
	case hostA == hostB:
		return pathA == pathB // a proxy has one for each cluster
	case anyCluster(hostA), anyCluster(hostB):
		return true
	case slices.Contains(ownHosts(a), hostB), slices.Contains(ownHosts(b), hostA):
		return true
	}
	domainA, isA := apiDomain(hostA)
	domainB, isB := apiDomain(hostB)
	return isA && isB && domainA == domainB
}

// endpoint is the host and the path of a server's URL. The port does not count: a load
// balancer may have another one.
func endpoint(server string) (host, path string) {
	server = strings.TrimSpace(server)
	if !strings.Contains(server, "://") {
		server = "https://" + server
	}
	u, err := url.Parse(server)
	if err != nil || u.Hostname() == "" {
		return server, ""
	}
	return strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), strings.Trim(u.Path, "/")
}

// anyCluster reports whether each cluster may be reached by this name from somewhere.
func anyCluster(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || slices.Contains([]string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}, host) || strings.HasPrefix(host, "kubernetes.default.svc.")
}

// ownHosts are the names of its API that a cluster tells itself.
func ownHosts(c inspect.Cluster) []string {
	var out []string
	for _, server := range []string{c.External, c.Internal} {
		if host, _ := endpoint(server); server != "" {
			out = append(out, host)
		}
	}
	return out
}

// apiDomain is the domain of which a host is api or api-int.
func apiDomain(host string) (domain string, ok bool) {
	label, domain, _ := strings.Cut(host, ".")
	return domain, domain != "" && (label == "api" || label == "api-int")
}
