package plugin

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
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
		"another word":                    {[]string{"--restart-network=sometimes"}, nil, `"sometimes" is none of needed, always, never`, ""},
		"a patch":                         {[]string{"--patch-kube-root-ca"}, nil, "it needs --accept-risk=owned-object", ""},
		"a patch, and the wrong risk":     {[]string{"--patch-kube-root-ca"}, []string{"breaks-trust"}, "it needs --accept-risk=owned-object", ""},
		"a patch whose risk was accepted": {[]string{"--patch-kube-root-ca"}, []string{"owned-object"}, "", "needed true"},
	} {
		var f networkFlags
		cmd := &cobra.Command{}
		f.addFlags(cmd)
		if err := cmd.ParseFlags(c.args); err != nil {
			t.Fatal(err)
		}
		err := f.check(c.risks)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		facts := networkFacts{pods: []inspect.Pod{{Name: "multus"}}}
		r, wanted := f.restarts(facts, debugFlags{namespace: "mine", image: "own"}, nil)
		if got := f.restart; got != strings.Fields(c.mode)[0] || wanted != strings.HasSuffix(c.mode, "true") || r.Always != (got == restartAlways) || (len(r.Pods) == 0) != (got == restartNever) || r.EachProbed != f.probe {
			t.Errorf("%s: %s, %t, %+v", name, got, wanted, r)
		}
		if r.Probe != (action.NetworkProbe{Namespace: "mine", Image: "own"}) {
			t.Errorf("%s: the proof is %+v", name, r.Probe)
		}
	}
}

func TestNetworkWithoutAnAPI(t *testing.T) {
	t.Parallel()
	w := &workplace{noAPI: errors.New("nobody answers")}
	facts, err := networkOf(t.Context(), w, catalog.Versions{Cluster: "4.15.0"})
	if err != nil || facts.read != nil || len(facts.pods) > 0 {
		t.Errorf("%+v, %v", facts, err)
	}
	var u *remediate.Unknown
	if err := facts.rootCA(nil, nil).Verify(t.Context(), &remediate.Env{Now: time.Now}, nil); !errors.As(err, &u) {
		t.Errorf("what nobody answers is %v", err)
	}
	f := networkFlags{patch: true}
	if a, wanted, err := f.patches(t.Context(), w, []*pki.Cert{{}}, time.Now()); err == nil || wanted || a.Of.Namespace != "" || !strings.Contains(err.Error(), "nobody answers") {
		t.Errorf("a patch: %+v, %t, %v", a, wanted, err)
	}
	f.patch = false
	if _, wanted, err := f.patches(t.Context(), w, nil, time.Now()); wanted || err != nil {
		t.Errorf("no patch: %t, %v", wanted, err)
	}
}
