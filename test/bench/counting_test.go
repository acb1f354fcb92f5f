package bench

import (
	"bytes"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// count runs a contender once, over a proxy that counts, and returns what it asked
// for and found. That run's time means nothing.
func count(b *testing.B, kubeconfig string, c contender) result {
	b.Helper()
	r := result{of: c}
	if c.missing != "" {
		return r
	}
	counted, requests, read := counting(b, kubeconfig)
	if c.tell != nil {
		c.argv = c.tell
	}
	var out bytes.Buffer
	if _, err := measure(b, counted, c, &out); err != nil {
		r.of.missing = err.Error()
	}
	r.requests, r.bytes, r.found = requests.Load(), read.Load(), c.distinct(out.Bytes())
	return r
}

// counting returns a kubeconfig for a proxy before the API server, and how many
// requests it has passed on and how many bytes of answers, as they were on the
// wire: packed if the client asked for that.
func counting(b *testing.B, kubeconfig string) (through string, requests, read *atomic.Int64) {
	b.Helper()
	requests, read = &atomic.Int64{}, &atomic.Int64{}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		b.Fatal(err)
	}
	config.DisableCompression = true // what the client says about it is passed on
	transport, err := rest.TransportFor(config)
	if err != nil {
		b.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			requests.Add(1)
			r.SetURL(target)
			r.Out.Header.Del("Authorization") // the proxy's own certificate says who asks
		},
		ModifyResponse: func(r *http.Response) error {
			r.Body = struct {
				io.Reader
				io.Closer
			}{io.TeeReader(r.Body, countingWriter{read}), r.Body}
			return nil
		},
	})
	server.EnableHTTP2 = true
	server.StartTLS()
	b.Cleanup(server.Close)
	through = filepath.Join(b.TempDir(), "kubeconfig")
	err = clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"lab": {
			Server:                   server.URL,
			CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"lab": {Token: "none"}},
		Contexts:       map[string]*clientcmdapi.Context{"lab": {Cluster: "lab", AuthInfo: "lab"}},
		CurrentContext: "lab",
	}, through)
	if err != nil {
		b.Fatal(err)
	}
	return through, requests, read
}

type countingWriter struct{ n *atomic.Int64 }

func (w countingWriter) Write(p []byte) (int, error) {
	w.n.Add(int64(len(p)))
	return len(p), nil
}
