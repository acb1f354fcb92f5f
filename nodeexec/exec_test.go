package nodeexec

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// podText is a pod as an API server sends it, as far as it is read.
func podText(namespace, name, label, owner string, hostPID, hostNet bool, mounts string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":%q,"labels":{"k8s-app":%q},"ownerReferences":[{"kind":%q}]},
		"spec":{"nodeName":"n","hostPID":%t,"hostNetwork":%t,
			"volumes":[{"name":"root","hostPath":{"path":"/"}},{"name":"etc","hostPath":{"path":"/etc"}}],
			"containers":[
				{"name":"proxy","image":"proxy:1"},
				{"name":"main","image":"%s:1","securityContext":{"privileged":true},"volumeMounts":[%s]}]},
		"status":{"phase":"Running","containerStatuses":[{"name":"main","state":{"running":{}}},{"name":"proxy","state":{"running":{}}}]}}`,
		name, namespace, label, owner, hostPID, hostNet, name, mounts)
}

// serve answers paths with texts; a text that begins with a number is an error.
func serve(t *testing.T, answers map[string]string) *rest.Config {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[r.URL.Path]
		if !ok {
			text = "404 NotFound not found"
		}
		w.Header().Set("Content-Type", "application/json")
		var code int
		if n, _ := fmt.Sscanf(text, "%d ", &code); n == 1 {
			words := strings.SplitN(text, " ", 3)
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": words[1], "message": words[2]})
			return
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(s.Close)
	return &rest.Config{Host: s.URL}
}

const (
	rootMount = `{"name":"root","mountPath":"/rootfs/"}`
	forbidden = `403 Forbidden pods is forbidden: User "u" cannot list resource "pods" in API group ""`
)

func TestWhichPodIsTaken(t *testing.T) {
	mcd := podText("openshift-machine-config-operator", "mcd", "machine-config-daemon", "DaemonSet", true, true, rootMount)
	tuned := podText("openshift-tuned", "tuned", "tuned", "DaemonSet", true, true, rootMount)
	single := podText("openshift-tuned", "single", "", "", true, true, rootMount)
	noPID := podText("openshift-x", "no-pid", "", "DaemonSet", false, true, rootMount)
	noRoot := podText("openshift-x", "no-root", "", "DaemonSet", true, true, `{"name":"etc","mountPath":"/rootfs"}`)
	part := podText("openshift-x", "part", "", "DaemonSet", true, true, `{"name":"root","mountPath":"/x","subPath":"var"}`)
	users := podText("users", "users", "machine-config-daemon", "DaemonSet", true, true, rootMount)
	ended := strings.Replace(strings.Replace(tuned, `"tuned"`, `"ended"`, 1), `"running":{}`, `"terminated":{}`, 1)
	list := func(pods ...string) string { return `{"items":[` + strings.Join(pods, ",") + `]}` }
	for _, c := range []struct {
		name    string
		answers map[string]string
		want    string
	}{
		{"machine-config-daemon before all others", map[string]string{"/api/v1/pods": list(noPID, tuned, mcd, single)}, "mcd tuned single no-pid"},
		{"none that lacks the whole root", map[string]string{"/api/v1/pods": list(noRoot, part)}, ""},
		{"none of users", map[string]string{"/api/v1/pods": list(users)}, ""},
		{"none that has ended", map[string]string{"/api/v1/pods": list(ended)}, ""},
		{"who may not list all pods is asked for those of machine-config-daemon", map[string]string{
			"/api/v1/pods": forbidden, "/api/v1/namespaces/openshift-machine-config-operator/pods": list(mcd), "/api/v1/namespaces/kube-system/pods": forbidden,
		}, "mcd"},
	} {
		api, err := newPodAPI(serve(t, c.answers))
		if err != nil {
			t.Fatal(err)
		}
		found, err := Exec{}.candidates(t.Context(), api, "n")
		var names []string
		for _, f := range found {
			names = append(names, f.pod.name)
			if f.root != "/rootfs" || f.pod.container != "main" {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
		if got := strings.Join(names, " "); err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
		}
	}
}

func TestExecOnlyWhereThereIsAPod(t *testing.T) {
	_, err := Exec{Config: serve(t, map[string]string{"/api/v1/pods": `{"items":[]}`})}.Dial(t.Context(), "n")
	if !errors.Is(err, ErrNoTransport) {
		t.Errorf("no pod: %v", err)
	}
	_, err = Exec{}.Dial(t.Context(), "n")
	if err == nil || !strings.Contains(err.Error(), "no configuration of an API server") {
		t.Errorf("no cluster: %v", err)
	}
}

func TestDebugImages(t *testing.T) {
	mcd := `{"items":[` + podText("openshift-machine-config-operator", "mcd", "machine-config-daemon", "DaemonSet", true, true, rootMount) + `]}`
	plain := `{"items":[` + podText("kube-system", "plain", "", "DaemonSet", false, false, "") + `]}`
	addOns := `{"items":[` + podText("openshift-gitops", "agent", "", "DaemonSet", false, false, "") + `]}`
	tenants := `{"items":[` + podText("openshift-multus", "multus", "", "DaemonSet", false, false, "") + `]}`
	tools := `{"image":{"dockerImageReference":"registry/tools@sha256:1"}}`
	for _, c := range []struct {
		name    string
		asked   DebugImage
		answers map[string]string
		want    DebugImage
		says    string
	}{
		{name: "the one that was asked for", asked: DebugImage{Name: "x:1", Secret: "s"}, want: DebugImage{"x:1", "IfNotPresent", "s"}},
		{name: "the policy that was asked for", asked: DebugImage{Name: "x:1", Pull: "Always"}, want: DebugImage{"x:1", "Always", ""}},
		{name: "that of a pod with the node's root", answers: map[string]string{"/api/v1/pods": mcd, toolsImage: tools}, want: DebugImage{"mcd:1", "Never", ""}},
		{name: "that of another DaemonSet", answers: map[string]string{"/api/v1/pods": plain, "/api/v1/namespaces/kube-system/pods": plain}, want: DebugImage{"proxy:1", "Never", ""}},
		{name: "not that of a tenant's namespace called like OpenShift's", answers: map[string]string{"/api/v1/pods": tenants, "/api/v1/namespaces/kube-system/pods": `{"items":[]}`}, says: "no pod of a DaemonSet of the platform"},
		{name: "not that of an add-on", answers: map[string]string{"/api/v1/pods": addOns, "/apis/" + OpenShiftAPI: `{}`}, says: "no pod of a DaemonSet of the platform"},
		{name: "that of the platform's own, not of an add-on", answers: map[string]string{"/api/v1/pods": addOns, "/apis/" + OpenShiftAPI: `{}`, "/api/v1/namespaces/openshift-multus/pods": tenants}, want: DebugImage{"proxy:1", "Never", ""}},
		{name: "OpenShift's tools", answers: map[string]string{"/api/v1/pods": `{"items":[]}`, toolsImage: tools}, want: DebugImage{"registry/tools@sha256:1", "IfNotPresent", ""}},
		{name: "OpenShift's tools for who may not see pods", answers: map[string]string{
			"/api/v1/pods": forbidden, "/api/v1/namespaces/openshift-machine-config-operator/pods": forbidden, "/api/v1/namespaces/kube-system/pods": forbidden, toolsImage: tools,
		}, want: DebugImage{"registry/tools@sha256:1", "IfNotPresent", ""}},
		{name: "none", answers: map[string]string{"/api/v1/pods": `{"items":[]}`}, says: "name an image that the node has or can pull, and that has the program chroot"},
	} {
		answers := map[string]string{}
		for _, namespace := range PlatformNamespaces(true) { // as of one that is not there
			answers["/api/v1/namespaces/"+namespace+"/pods"] = `{"items":[]}`
		}
		maps.Copy(answers, c.answers)
		api, err := newPodAPI(serve(t, answers))
		if err != nil {
			t.Fatal(err)
		}
		got, err := (&Debug{Image: c.asked}).image(t.Context(), api, "n")
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v", c.name, err)
			}
		} else if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}
