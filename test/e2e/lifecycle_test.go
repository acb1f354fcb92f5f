package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	// settleLimit is how long the controllers may take to issue certificates,
	// tokens and kube-root-ca.crt.
	settleLimit = 60 * time.Second
	// abandoned is the age of things that a killed run left behind.
	abandoned = 15 * time.Minute
)

// clusterScoped are the kinds of which something is planted outside of the
// planted namespaces, apart from the namespaces themselves.
const clusterScoped = "apiservices,validatingwebhookconfigurations,mutatingwebhookconfigurations,customresourcedefinitions,certificatesigningrequests,clusterroles,clusterrolebindings," +
	"controllerconfigs,machineconfigs,machineconfigpools,proxies,apiservers,images,oauths,ingresses.config.openshift.io"

// plant sends the plan to the lab and waits until the lab's controllers have
// done their part.
func (w *world) plant() error {
	p := w.planted
	list := asJSON(object{"apiVersion": "v1", "kind": "List", "items": p.objects})
	if _, err := w.kubectl(list, "create", "-f", "-"); err != nil {
		return err
	}
	approve := []string{"certificate", "approve", p.id + "-approved", p.id + "-chain", p.oddRequest()}
	for _, u := range p.someUsers() {
		approve = append(approve, p.userName(u.name))
	}
	controllerConfig, pool := p.reports()
	failed := asJSON(object{"status": object{"conditions": []object{{"type": "Failed", "status": "True", "reason": "Test", "message": "no such luck"}}}})
	for _, args := range [][]string{
		approve,
		{"certificate", "deny", p.id + "-denied"},
		{"patch", "csr", p.id + "-failed", "--subresource=status", "--type=merge", "-p", string(failed)},
		{"patch", "controllerconfig", p.id, "--subresource=status", "--type=merge", "-p", string(controllerConfig)},
		{"patch", "machineconfigpool", p.id, "--subresource=status", "--type=merge", "-p", string(pool)},
		{"patch", "csr", p.id + "-chain", "--subresource=status", "--type=merge", "-p", string(p.chainPatch())},
	} {
		if _, err := w.kubectl(nil, args...); err != nil {
			return err
		}
	}
	return nil
}

// settle waits for the controllers, and learns what they made.
func (w *world) settle() error {
	deadline := time.Now().Add(settleLimit)
	for {
		missing, err := w.unsettled()
		if err != nil || len(missing) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the lab's controllers have not made %s within %s", strings.Join(missing, ", "), settleLimit)
		}
		time.Sleep(300 * time.Millisecond)
	}
}

func (w *world) unsettled() ([]string, error) {
	p := w.planted
	var missing []string
	var requests struct {
		Items []struct {
			Metadata struct{ Name string }
			Status   struct{ Certificate []byte }
		}
	}
	if err := w.get(&requests, "csr", "-l", label+"="+p.id); err != nil {
		return nil, err
	}
	issued := map[string]bool{}
	for _, r := range requests.Items {
		issued[r.Metadata.Name] = len(r.Status.Certificate) > 0
	}
	for _, name := range append([]string{p.oddRequest(), p.id + "-chain"}, p.userNames()...) {
		if !issued[name] {
			missing = append(missing, "a certificate for "+name)
		}
	}
	var token struct{ Data map[string][]byte }
	if err := w.get(&token, "secret", "-n", p.rich(), "robot-token"); err != nil {
		return nil, err
	}
	if len(token.Data["token"]) == 0 {
		missing = append(missing, "a token")
	} else {
		p.secrets.addToken("the service account's token", string(token.Data["token"]))
	}
	for _, ns := range []string{p.rich(), p.fine(), p.bad()} {
		if err := w.get(&struct{}{}, "configmap", "-n", ns, "kube-root-ca.crt"); err != nil {
			missing = append(missing, "kube-root-ca.crt in "+ns)
		}
	}
	return missing, nil
}

func (p *plan) userNames() []string {
	var names []string
	for _, u := range p.someUsers() {
		names = append(names, p.userName(u.name))
	}
	return names
}

// get reads one object or a list of them.
func (w *world) get(into any, args ...string) error {
	out, err := w.kubectl(nil, append([]string{"get", "-o", "json"}, args...)...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, into); err != nil {
		return fmt.Errorf("read what kubectl get %s printed: %w", strings.Join(args, " "), err)
	}
	return nil
}

// uproot removes everything that was planted. The APIService goes first: while
// it is there, no namespace ends.
func (w *world) uproot() error {
	return w.remove(w.planted.id)
}

func (w *world) remove(id string) error {
	var errs []error
	for _, args := range [][]string{
		{clusterScoped, "-l", label + "=" + id},
		{"secrets", "-n", "openshift-kube-apiserver", "-l", label + "=" + id},
		{"secrets,configmaps", "-n", "openshift-config", "-l", label + "=" + id},
		{"secrets", "-n", "openshift-ingress", "-l", label + "=" + id},
		{"ingresscontrollers", "-n", "openshift-ingress-operator", "-l", label + "=" + id},
		{"namespaces", "-l", label + "=" + id, "--timeout=60s"},
	} {
		_, err := w.kubectl(nil, append([]string{"delete", "--ignore-not-found"}, args...)...)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// weed removes what runs that were killed have left.
func (w *world) weed() error {
	var old struct {
		Items []struct {
			Metadata struct {
				Labels            map[string]string
				CreationTimestamp time.Time
			}
		}
	}
	if err := w.get(&old, clusterScoped+",namespaces", "-l", label); err != nil {
		return err
	}
	ids := map[string]bool{}
	for _, item := range old.Items {
		if time.Since(item.Metadata.CreationTimestamp) > abandoned {
			ids[item.Metadata.Labels[label]] = true
		}
	}
	for id := range ids {
		if err := w.remove(id); err != nil {
			return err
		}
	}
	return nil
}
