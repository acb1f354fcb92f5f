package connect

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// APIServerNodes are the nodes of which the API has a kube-apiserver's pod, whatever their
// labels say; nil: not all of these pods could be listed. A master that is lost has its
// pod there still.
func (c *Connection) APIServerNodes(ctx context.Context) []string {
	var namespaces []string
	for _, row := range catalog.KubeletSetups(catalog.Versions{}) {
		namespaces = append(namespaces, row.APIServerNamespace)
	}
	pods, gaps := c.Cluster.Pods(ctx, namespaces...)
	if len(gaps) > 0 {
		return nil
	}
	nodes := []string{}
	for _, p := range pods {
		if p.OwnerKind == "Node" && p.Name == "kube-apiserver-"+p.Node && !slices.Contains(nodes, p.Node) {
			nodes = append(nodes, p.Node)
		}
	}
	return nodes
}

// CurrentUser is the user whose credentials are used, by the API server, else by the
// kubeconfig: of root on a bastion it is unknown who that is.
func (c *Connection) CurrentUser(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, personTime)
	defer cancel()
	name := ""
	review, err := c.Kube.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err == nil {
		name = review.Status.UserInfo.Username
	}
	if of := c.Config.Contexts[c.Context]; name == "" && of != nil {
		name = of.AuthInfo
	}
	// It goes into one line that others read, and is not to pass for their part of it.
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == '(' || r == ')' {
			return '?'
		}
		return r
	}, name)
	if runes := []rune(name); len(runes) > maxPerson {
		name = string(runes[:maxPerson]) + "…"
	}
	return name
}

const (
	personTime = 5 * time.Second
	maxPerson  = 100
)

// Another names the ways that were not tried.
func (w nodeWays) Another() string {
	var left []string
	for _, other := range w.left() {
		left = append(left, "--via "+other.Name)
	}
	if len(left) == 0 {
		return "run it with --local on the node itself"
	}
	return "try another way: " + strings.Join(left, " or ") + "; or run it with --local on the node itself"
}
