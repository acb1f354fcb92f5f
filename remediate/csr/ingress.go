package csr

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
)

// Where OpenShift has the domains of the API and of ingress.
const (
	dnsPath                = "/apis/config.openshift.io/v1/dnses/cluster"
	ingressPath            = "/apis/config.openshift.io/v1/ingresses/cluster"
	ingressControllersPath = "/apis/operator.openshift.io/v1/namespaces/openshift-ingress-operator/ingresscontrollers"
)

// baseDomain takes the names of the API in the cluster's domain, whatever Infrastructure says.
func (o *origins) baseDomain(ctx context.Context, env *remediate.Env, _ *corev1.Node) error {
	var config struct {
		Spec struct {
			BaseDomain string `json:"baseDomain"`
		} `json:"spec"`
	}
	if err := getJSON(ctx, env.Kube, dnsPath, &config); err != nil {
		return fmt.Errorf("read DNS cluster: %w", err)
	}
	if config.Spec.BaseDomain == "" {
		return nil
	}
	for _, label := range []string{"api", "api-int"} {
		o.exclude(label+"."+config.Spec.BaseDomain, "a name of the API (DNS cluster)")
	}
	return nil
}

// ingress takes the domains under which Routes get their hosts, and the hosts that
// components have elsewhere: the console's, and that of logins.
func (o *origins) ingress(ctx context.Context, env *remediate.Env, _ *corev1.Node) error {
	var config struct {
		Spec struct {
			Domain          string `json:"domain"`
			AppsDomain      string `json:"appsDomain"`
			ComponentRoutes []struct {
				Hostname string `json:"hostname"`
			} `json:"componentRoutes"`
		} `json:"spec"`
		Status struct {
			ComponentRoutes []struct {
				Default string   `json:"defaultHostname"`
				Current []string `json:"currentHostnames"`
			} `json:"componentRoutes"`
		} `json:"status"`
	}
	if err := getJSON(ctx, env.Kube, ingressPath, &config); err != nil {
		return fmt.Errorf("read Ingress cluster: %w", err)
	}
	o.excludeDomain(config.Spec.Domain, "Ingress cluster")
	o.excludeDomain(config.Spec.AppsDomain, "Ingress cluster")
	var hosts []string
	for _, r := range config.Spec.ComponentRoutes {
		hosts = append(hosts, r.Hostname)
	}
	for _, r := range config.Status.ComponentRoutes {
		hosts = append(append(hosts, r.Default), r.Current...)
	}
	for _, h := range hosts {
		o.exclude(h, "a host of a component's Route (Ingress cluster)")
	}
	return nil
}

// ingressControllers takes the domains of all IngressControllers: those of shards are in no
// other object.
func (o *origins) ingressControllers(ctx context.Context, env *remediate.Env, _ *corev1.Node) error {
	var pages foreign.Pages
	next := ""
	for {
		var page struct {
			Metadata metav1.ListMeta `json:"metadata"`
			Items    []struct {
				Metadata metav1.ObjectMeta `json:"metadata"`
				Spec     struct {
					Domain string `json:"domain"`
				} `json:"spec"`
				Status struct {
					Domain string `json:"domain"`
				} `json:"status"`
			} `json:"items"`
		}
		err := decoded(ctx, env.Kube.REST().Get().AbsPath(ingressControllersPath).Param("limit", "500").Param("continue", next), &page)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return fmt.Errorf("list IngressControllers: %w", err)
		}
		for _, c := range page.Items {
			o.excludeDomain(c.Spec.Domain, "IngressController "+c.Metadata.Name)
			o.excludeDomain(c.Status.Domain, "IngressController "+c.Metadata.Name)
		}
		next = page.Metadata.Continue
		if more, err := pages.Next(next); !more {
			return err
		}
	}
}

// excludeDomain adds a domain, in which no name is a node's.
func (o *origins) excludeDomain(name, from string) {
	name = strings.ToLower(strings.Trim(name, "."))
	if name != "" {
		o.domains = append(o.domains, domain{name, "in the domain of ingress, " + name + " (" + from + ")"})
	}
}

// inDomain says in which domain a name in lower case is; empty: in none of others.
func (o *origins) inDomain(name string) string {
	for _, d := range o.domains {
		if name == d.name || strings.HasSuffix(name, "."+d.name) {
			return d.owner
		}
	}
	return ""
}
