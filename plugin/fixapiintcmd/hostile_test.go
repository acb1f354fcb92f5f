package fixapiintcmd

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply/applytest"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/kubeclient/kubeclienttest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// TestLeaseHolderForgesNoLines: another user writes the Lease.
func TestLeaseHolderForgesNoLines(t *testing.T) {
	t.Parallel()
	for _, silent := range []time.Duration{time.Second, time.Hour} {
		holder, renewed, lasts := plugintest.Planted, metav1.NewMicroTime(time.Now().Add(-silent)), int32(60)
		kube := fake.NewClientset(&coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: remediate.LeaseNamespace, Name: remediate.LeaseName},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &renewed, LeaseDurationSeconds: &lasts},
		})
		out, streams := plugintest.OnScreen()
		w := applytest.OnNodes(applytest.Connect(plugintest.SettledAPI(), t), out)
		w.Conn.Kube = kubeclienttest.Of(kube)
		leaseOf(t.Context(), w).print(streams.Out)
		_, err := remediate.Lease{Kube: w.Conn.Kube, Holder: "me", Now: time.Now}.Take(t.Context())
		if live := silent < time.Minute; (err != nil) != live {
			t.Fatal(err)
		}
		if err != nil {
			cli.PrintError(streams, apply.Refused(err))
			if !strings.Contains(err.Error(), "“") {
				t.Errorf("the holder is not marked: %v", err)
			}
		}
		plugintest.Unforged(t, "silent for "+silent.String(), out.String())
	}
}

// TestMessagesOfAnAPIForgeNoLines: who answers in the place of the API server writes what
// errors say.
func TestMessagesOfAnAPIForgeNoLines(t *testing.T) {
	t.Parallel()
	status, err := json.Marshal(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden, Message: plugintest.Planted})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			plugintest.LiveAPI{}.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write(status)
	}))
	t.Cleanup(server.Close)
	flags := &cli.ConfigFlags{}
	flags.ClusterInfo.Server = server.URL
	conn, err := connect.Connect(t.Context(), cli.App{}, flags, pki.NewScanner(), connect.ToRead)
	if err != nil {
		t.Fatal(err)
	}
	out, streams := plugintest.OnScreen()
	w := applytest.OnNodes(conn, out)
	leaseOf(t.Context(), w).print(streams.Out)
	plugintest.Unforged(t, "the Lease", out.String())

	_, err = conn.Kube.ConfigMaps("").List(t.Context(), metav1.ListOptions{})
	out, streams = plugintest.OnScreen()
	cli.PrintError(streams, cli.NothingChanged(err))
	plugintest.Unforged(t, "an error", out.String())

	out, streams = plugintest.OnScreen()
	cli.PrintError(streams, apply.Stopped([]preflight.Verdict{{Assessment: assess.Assessment{ID: "csr-signer", Reason: pki.Foreign(err.Error()), Remediation: assess.FixedCommand("kubectl auth whoami")}}}))
	plugintest.Unforged(t, "a refusal", out.String())
}
