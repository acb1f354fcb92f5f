package apply

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/remediate"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/action"
)

func TestNetworkFlags(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args  []string
		risks []string
		want  string // of the refusal
		mode  string // what is to be done
	}{
		"as it is":                        {nil, nil, "", "needed true"},
		"always":                          {[]string{"--restart-network=always"}, nil, "", "always true"},
		"never":                           {[]string{"--restart-network=never"}, nil, "", "never false"},
		"never, and a proof":              {[]string{"--restart-network=never", "--probe-network"}, nil, "", "never true"},
		"another word":                    {[]string{"--restart-network=sometimes"}, nil, `"sometimes": must be one of needed, always, never`, ""},
		"a patch":                         {[]string{"--patch-kube-root-ca"}, nil, "it needs --accept-risk=owned-object", ""},
		"a patch, and the wrong risk":     {[]string{"--patch-kube-root-ca"}, []string{"breaks-trust"}, "it needs --accept-risk=owned-object", ""},
		"a patch whose risk was accepted": {[]string{"--patch-kube-root-ca"}, []string{"owned-object"}, "", "needed true"},
	} {
		var f NetworkFlags
		cmd := &cobra.Command{}
		f.AddFlags(cmd)
		if err := cmd.ParseFlags(c.args); err != nil {
			t.Fatal(err)
		}
		o, err := f.ToOptions(c.risks, connect.DebugFlags{Namespace: "mine", Image: "own"})
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		facts := NetworkFacts{Pods: []inspect.Pod{{Name: "multus"}}}
		r, wanted := o.Restarts(facts, nil)
		if got := f.Restart; got != strings.Fields(c.mode)[0] || wanted != strings.HasSuffix(c.mode, "true") || r.Always != (got == restartAlways) || (len(r.Pods) == 0) != (got == RestartNever) || r.EachProbed != f.Probe {
			t.Errorf("%s: %s, %t, %+v", name, got, wanted, r)
		}
		if r.Probe != (action.NetworkProbe{Namespace: "mine", Image: "own"}) {
			t.Errorf("%s: the proof is %+v", name, r.Probe)
		}
	}
}

func TestNetworkWithoutAnAPI(t *testing.T) {
	t.Parallel()
	w := &Session{NoAPI: errors.New("nobody answers")}
	facts, err := NetworkOf(t.Context(), w, catalog.Versions{Cluster: "4.15.0"})
	if err != nil || facts.read != nil || len(facts.Pods) > 0 {
		t.Errorf("%+v, %v", facts, err)
	}
	var u *remediate.UnknownEffectError
	if err := facts.RootCA(nil, nil).Verify(t.Context(), &remediate.Env{Now: time.Now}, nil); !errors.As(err, &u) {
		t.Errorf("what nobody answers is %v", err)
	}
	o := NetworkOptions{patch: true}
	if a, wanted, err := o.Patches(t.Context(), w, []*pki.Cert{{}}, time.Now()); err == nil || wanted || a.Object.Namespace != "" || !strings.Contains(err.Error(), "nobody answers") {
		t.Errorf("a patch: %+v, %t, %v", a, wanted, err)
	}
	o.patch = false
	if _, wanted, err := o.Patches(t.Context(), w, nil, time.Now()); wanted || err != nil {
		t.Errorf("no patch: %t, %v", wanted, err)
	}
}
