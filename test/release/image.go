package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// imageUser is who the program is in a container; OpenShift chooses another of group 0.
const (
	imageUser = 65532
	imageHome = "home/certrot"
)

// image is the program on an empty file system. What that lacks: certificates of public
// CAs, a shell, ssh and whatever program a kubeconfig asks for credentials. So it is for
// kubeconfigs that name their CA and hold a token or a client certificate, for service
// accounts, and for files; SSL_CERT_FILE can name certificates that are mounted.
func image(root, version string, p platform, parts parts, made time.Time) (v1.Image, error) {
	layer, err := imageLayer(root, parts, made)
	if err != nil {
		return nil, err
	}
	img, err := mutate.Append(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), mutate.Addendum{
		Layer:   layer,
		History: v1.History{CreatedBy: "make dist", Created: v1.Time{Time: made}},
	})
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = p.OS, p.Arch, v1.Time{Time: made}
	config.Config = v1.Config{
		Entrypoint: []string{"/kubectl-certrot"},
		User:       "65532:65532",
		Env:        []string{"PATH=/", "HOME=/" + imageHome},
		WorkingDir: "/" + imageHome,
		Labels: map[string]string{
			"org.opencontainers.image.title":    "kubectl-certrot",
			"org.opencontainers.image.source":   "https://github.com/kubectl-certrot/kubectl-certrot",
			"org.opencontainers.image.version":  version,
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return mutate.ConfigFile(img, config)
}

// imageLayer is the whole file system.
func imageLayer(root string, parts parts, made time.Time) (v1.Layer, error) {
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	for _, dir := range []tar.Header{
		{Name: "home/", Mode: 0o755},
		{Name: imageHome + "/", Mode: 0o770, Uid: imageUser}, // and group 0: see imageUser
		{Name: "licenses/", Mode: 0o755},
		{Name: "tmp/", Mode: 0o1777},
	} {
		dir.Typeflag, dir.ModTime, dir.Format = tar.TypeDir, made, tar.FormatUSTAR
		if err := tw.WriteHeader(&dir); err != nil {
			return nil, err
		}
	}
	for _, f := range []file{
		{"kubectl-certrot", parts.binary, 0o755},
		{"licenses/LICENSE", filepath.Join(root, "LICENSE"), 0o644},
		{"licenses/" + filepath.Base(parts.notice), parts.notice, 0o644},
	} {
		if err := addToTar(tw, f, made); err != nil {
			return nil, err
		}
	}
	if err := tw.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil },
		tarball.WithCompressedCaching, tarball.WithCompressionLevel(gzip.BestCompression), tarball.WithMediaType(types.OCILayer))
}

// writeImages writes an OCI layout with an image for each platform as a tar file, which
// skopeo, podman and crane read.
func writeImages(path string, images map[platform]v1.Image, made time.Time) (err error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range platforms() {
		if img, ok := images[p]; ok {
			index = mutate.AppendManifests(index, mutate.IndexAddendum{
				Add:        img,
				Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.OS, Architecture: p.Arch}},
			})
		}
	}
	dir, err := os.MkdirTemp("", "certrot-image")
	if err != nil {
		return err
	}
	defer func() {
		if e := os.RemoveAll(dir); err == nil {
			err = e
		}
	}()
	// A reader takes what index.json names for one image, for whatever platform.
	top := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{Add: index})
	if _, err := layout.Write(dir, top); err != nil {
		return err
	}
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if e := out.Close(); err == nil {
			err = e
		}
	}()
	tw := tar.NewWriter(out)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // in the order of names
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return addToTar(tw, file{filepath.ToSlash(name), path, 0o644}, made)
	})
	if err != nil {
		return err
	}
	return tw.Close()
}
