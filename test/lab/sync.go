//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"os"
	"path"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/identity"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/kubeapi"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/labdir"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/node"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/pki"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/supervisor"
)

// syncer is the certificate syncer: it brings certificates and bundles from the API
// to the lab's components and masters. It is the lab's own, in the place of
// OpenShift's installer pods, cert-syncers and rollouts of static pods.
type syncer struct {
	dir     labdir.Dir
	content map[string]string // names of key pairs and bundles, by the path of their object
	pending map[string]holder // seen, not brought yet
	brought map[string]string // versions, by path
}

// holder is a Secret or ConfigMap, as far as the syncer reads it.
type holder struct {
	path    string
	version string            // its resourceVersion
	files   map[string][]byte // tls.crt and tls.key, or ca-bundle.crt
}

const (
	secretKind = "secrets"

	certFile   = "tls.crt"
	keyFile    = "tls.key"
	bundleFile = "ca-bundle.crt"

	// syncQuiet is for how long nothing changes before it is brought: what one rotation
	// changes comes within a second, and is worth one restart.
	syncQuiet = 400 * time.Millisecond
	syncRetry = time.Second
)

// syncCertificates is the syncer's process, inside the lab. It ends with ctx.
func syncCertificates(ctx context.Context, dir labdir.Dir) {
	s := syncer{dir: dir, content: identity.Consumed(), pending: map[string]holder{}, brought: map[string]string{}}
	seen := make(chan holder)
	lists := map[string]bool{} // of one kind in one namespace: a lab may hold thousands of others
	for object := range s.content {
		if list := path.Dir(object); !lists[list] {
			lists[list] = true
			go s.watch(ctx, list, seen)
		}
	}
	for ctx.Err() == nil {
		wait := time.Duration(1<<63 - 1)
		if len(s.pending) > 0 {
			wait = syncQuiet
		}
		select {
		case <-ctx.Done():
		case h := <-seen:
			s.pending[h.path] = h
		case <-time.After(wait):
			if err := s.bring(ctx); err != nil {
				log.Printf("%v: trying again", err)
				pause(ctx, syncRetry)
			}
		}
	}
}

// pause waits, and no longer than ctx.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// watch passes on what is there and what changes, of what is below a path in the API.
func (s *syncer) watch(ctx context.Context, list string, seen chan<- holder) {
	for ctx.Err() == nil {
		// Made each time, as it may be the API server's own CA that has changed.
		api, err := kubeapi.New(s.dir.PKI(), "localhost:6443")
		if err == nil {
			err = api.Watch(ctx, list, func(text json.RawMessage) {
				h, err := readHolder(path.Base(list), text)
				if err != nil {
					log.Print(err)
				}
				if s.content[h.path] != "" {
					seen <- h
				}
			})
		}
		log.Printf("%v: watching again", err)
		pause(ctx, syncRetry)
	}
}

func readHolder(kind string, text []byte) (holder, error) {
	var o struct {
		Metadata struct {
			Namespace       string `json:"namespace"`
			Name            string `json:"name"`
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return holder{}, fmt.Errorf("read one of the %s: %w", kind, err)
	}
	h := holder{
		path:    fmt.Sprintf("/api/v1/namespaces/%s/%s/%s", o.Metadata.Namespace, kind, o.Metadata.Name),
		version: o.Metadata.ResourceVersion,
		files:   map[string][]byte{},
	}
	if len(o.Data) == 0 {
		return h, nil
	}
	if kind == secretKind {
		if err := json.Unmarshal(o.Data, &h.files); err != nil { // base64
			return holder{}, fmt.Errorf("read %s: %w", h.path, err)
		}
		return h, nil
	}
	var texts map[string]string
	if err := json.Unmarshal(o.Data, &texts); err != nil {
		return holder{}, fmt.Errorf("read %s: %w", h.path, err)
	}
	for name, text := range texts {
		h.files[name] = []byte(text)
	}
	return h, nil
}

// bring writes what is pending to the files of the lab's components and of masters,
// and restarts those that read them at start only.
func (s *syncer) bring(ctx context.Context) error {
	var changed []string
	for _, object := range slices.Sorted(maps.Keys(s.pending)) {
		differs, err := s.write(s.pending[object])
		if err != nil {
			return err
		}
		if differs {
			changed = append(changed, s.content[object])
		}
	}
	if len(changed) > 0 {
		log.Printf("bringing %v", changed)
		if err := masters(s.dir, func(root string) error { return node.Rollout(root, s.dir.PKI(), changed) }); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(changed, func(name string) bool { return slices.Contains(node.InEmergencyKubeconfigs(), name) }) {
		api, err := kubeapi.New(s.dir.PKI(), "localhost:6443")
		if err != nil {
			return err
		}
		if err := publishNodeKubeconfigs(ctx, s.dir, api); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(changed, func(name string) bool { return slices.Contains(readAtStart(), name) }) {
		if err := restartClients(ctx, s.dir); err != nil {
			return err
		}
	}
	for object, h := range s.pending {
		s.brought[object] = h.version
	}
	s.pending = map[string]holder{}
	return s.dir.WriteSynced(s.brought)
}

// publishNodeKubeconfigs brings to the cluster what is on masters; on OpenShift it is
// the other way round.
func publishNodeKubeconfigs(ctx context.Context, dir labdir.Dir, api *kubeapi.Client) error {
	secret, err := identity.NodeKubeconfigs(dir.PKI())
	if err != nil {
		return err
	}
	return api.Put(ctx, identity.NodeKubeconfigsPath, secret)
}

// readAtStart is what the API server's clients have in kubeconfigs or flags. The API
// server itself watches its files.
func readAtStart() []string {
	return []string{"kube-apiserver-server-ca", "serviceaccount-ca", "kube-controller-manager-client-cert-key", "kube-scheduler-client-cert-key"}
}

// write says whether it has changed a file. A key and its certificate are put in place
// together: client-go remembers for a second that they do not match.
func (s *syncer) write(h holder) (bool, error) {
	name := s.content[h.path]
	var changed []string
	for _, f := range []struct {
		key, path string
		mode      os.FileMode
	}{
		{bundleFile, pki.BundleFile(s.dir.PKI(), name), 0o644},
		{keyFile, pki.KeyFile(s.dir.PKI(), name), 0o600},
		{certFile, pki.CertFile(s.dir.PKI(), name), 0o644},
	} {
		text := h.files[f.key]
		if len(text) == 0 {
			continue // a bundle has no key; and what is empty is no better than before
		}
		before, err := os.ReadFile(f.path)
		if err == nil && bytes.Equal(before, text) {
			continue
		}
		if err := stage(f.path, text, f.mode); err != nil {
			return false, err
		}
		changed = append(changed, f.path)
	}
	for _, path := range changed {
		if err := place(path); err != nil {
			return false, err
		}
	}
	return len(changed) > 0, nil
}

// replace writes a file in one step: others read it at any moment.
func replace(path string, text []byte, mode os.FileMode) error {
	if err := stage(path, text, mode); err != nil {
		return err
	}
	return place(path)
}

func stage(path string, text []byte, mode os.FileMode) error {
	if err := os.WriteFile(path+".new", text, mode); err != nil {
		return fmt.Errorf("replace certificates: %w", err)
	}
	return nil
}

func place(path string) error {
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("replace certificates: %w", err)
	}
	return nil
}

// restartClients has the control plane's own clients of api-int read again which CAs
// to trust, which they do at start only. On OpenShift a changed serviceaccount-ca rolls
// out a new revision of both.
func restartClients(ctx context.Context, dir labdir.Dir) error {
	if err := componentKubeconfigs(dir); err != nil {
		return err
	}
	for _, name := range []string{"kube-controller-manager", "kube-scheduler"} {
		if err := supervisor.Restart(ctx, dir, name); err != nil {
			return err
		}
	}
	return nil
}

// synced says what of these names the syncer has not brought yet as it is in the
// cluster.
func synced(ctx context.Context, dir labdir.Dir, api *kubeapi.Client, names []string) error {
	brought, err := dir.Synced()
	if err != nil {
		return err
	}
	for object, name := range identity.Consumed() {
		if !slices.Contains(names, name) {
			continue
		}
		h, err := getHolder(ctx, api, object)
		if err != nil {
			return err
		}
		if brought[object] != h.version {
			return fmt.Errorf("version %q of %s has been brought, not %s", brought[object], object, h.version)
		}
	}
	return nil
}

func getHolder(ctx context.Context, api *kubeapi.Client, object string) (holder, error) {
	text, err := api.Get(ctx, object)
	if err != nil {
		return holder{}, err
	}
	return readHolder(path.Base(path.Dir(object)), text)
}
