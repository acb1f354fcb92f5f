package pki

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLocationString(t *testing.T) {
	tests := []struct {
		text string
		want Location
	}{
		{"Secret/openshift-kube-apiserver/internal-loadbalancer-serving-certkey[tls.crt]",
			Location{Kind: "Secret", Namespace: "openshift-kube-apiserver", Name: "internal-loadbalancer-serving-certkey", Key: "tls.crt"}},
		{"ConfigMap/kube-public/cluster-info[kubeconfig]#clusters[0].cluster.certificate-authority-data",
			Location{Kind: "ConfigMap", Namespace: "kube-public", Name: "cluster-info", Key: "kubeconfig", Field: "clusters[0].cluster.certificate-authority-data"}},
		{"APIService/v1beta1.metrics.k8s.io#spec.caBundle", Location{Kind: "APIService", Name: "v1beta1.metrics.k8s.io", Field: "spec.caBundle"}},
		{"node/worker-3:/var/lib/kubelet/kubeconfig#clusters[0].cluster.certificate-authority-data",
			Location{Kind: KindFile, Node: "worker-3", Path: "/var/lib/kubelet/kubeconfig", Field: "clusters[0].cluster.certificate-authority-data"}},
		{"Secret/a%20b/c%20%20d[tls.crt]", Location{Kind: "Secret", Namespace: "a b", Name: "c  d", Key: "tls.crt"}},
		{"file:./ca.pem", Location{Kind: KindFile, Path: "./ca.pem"}},
		{`file:C:\ca%20[1].pem`, Location{Kind: KindFile, Path: `C:\ca [1].pem`}},
		{"ClusterRole/system:node", Location{Kind: "ClusterRole", Name: "system:node"}},
		{`MachineConfig/00-worker#spec.config.storage.files[3].contents.source#data["ca.crt"]`,
			Location{Kind: "MachineConfig", Name: "00-worker", Field: `spec.config.storage.files[3].contents.source#data["ca.crt"]`}},
		{"%6Eode/a:b", Location{Kind: "node", Name: "a:b"}},
		{"file%3Ax/a", Location{Kind: "file:x", Name: "a"}},
		{"node/worker-3", Location{Kind: KindFile, Node: "worker-3"}},
		{"node/a%3Ab%2Fc:/x%23y", Location{Kind: KindFile, Node: "a:b/c", Path: "/x#y"}},
		{"Secret/n%2Fs/a%5B%5D%23%25[k%5Dx]#f%0A%FF%C2%85é", Location{Kind: "Secret", Namespace: "n/s", Name: "a[]#%", Key: "k]x", Field: "f\n\xff\u0085é"}},
		{"node/a:/x%E2%80%9D%20next:%20y", Location{Kind: KindFile, Node: "a", Path: "/x” next: y"}},
		{"ConfigMap/“a%20b”/c[k%E2%80%9C]#f%E2%80%9D", Location{Kind: "ConfigMap", Namespace: "“a b”", Name: "c", Key: "k“", Field: "f”"}},
		{"Secret/ns/[k]", Location{Kind: "Secret", Namespace: "ns", Key: "k"}},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			if got := tt.want.String(); got != tt.text {
				t.Errorf("String() = %s", got)
			}
			got, err := ParseLocation(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("ParseLocation (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseLocationRefuses(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", "", "an object is written KIND/NAME or KIND/NAMESPACE/NAME"},
		{"a word", "Secret", "an object is written KIND/NAME or KIND/NAMESPACE/NAME"},
		{"too many words", "Secret/a/b/c", "an object is written KIND/NAME or KIND/NAMESPACE/NAME"},
		{"no kind", "/a", "the kind is missing"},
		{"a path without a node", "node/:/a", "a file on a node is written node/NAME:PATH"},
		{"a bracket left open", "Secret/a/b[c", "a key is written in brackets, as in Secret/ns/name[tls.crt]"},
		{"text behind a bracket", "Secret/a/b[c]d", "a key is written in brackets, as in Secret/ns/name[tls.crt]"},
		{"a lone percent sign", "Secret/a/100%", "% must be followed by two hex digits (a percent sign itself is %25)"},
		{"a file that looks like an object", "File/a", "a file is written file:PATH or node/NAME:PATH"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseLocation(tt.text)
			if err == nil || !strings.HasSuffix(err.Error(), tt.want) || !strings.Contains(err.Error(), "“"+tt.text+"”") {
				t.Errorf("error %v, want …%s", err, tt.want)
			}
		})
	}
}

func TestLocationJSON(t *testing.T) {
	in := map[Location][]Location{
		{Kind: "Secret", Namespace: "ns", Name: "a", Key: "tls.crt"}: {{Kind: KindFile, Node: "n", Path: "/x"}},
	}
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"Secret/ns/a[tls.crt]":["node/n:/x"]}`; string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
	var out map[Location][]Location
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCompareOrders(t *testing.T) {
	want := []string{
		"ConfigMap/a/b", "ConfigMap/a/b[k]", "ConfigMap/a/b[k]#f", "ConfigMap/b/a",
		"file:a", "node/n:/a", "node/n:/b", "Secret/a",
	}
	var list []Location
	for _, s := range want {
		l, err := ParseLocation(s)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, l)
	}
	slices.Reverse(list)
	slices.SortFunc(list, Compare)
	var got []string
	for _, l := range list {
		got = append(got, l.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
