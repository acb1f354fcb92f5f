package rootfs

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"runtime"
)

// Names of the images on every node.
const (
	PauseImage = "localhost/lab/pause:1" // what holds a pod's namespaces
	ToolsImage = "localhost/lab/tools:1" // busybox: a shell, nc, wget, …
)

type image struct {
	Name       string
	Entrypoint []string
	Cmd        []string
}

// imageList are two names for the same files. The pause image needs only to stay
// where it is: the runtime ends it by SIGKILL.
func imageList() []image {
	return []image{
		{Name: PauseImage, Entrypoint: []string{"/bin/sleep", "2147483647"}},
		{Name: ToolsImage, Cmd: []string{"/bin/sh"}},
	}
}

// imageArchive is what `docker save` would write: one layer, an image for each
// name.
func imageArchive(busybox []byte, commands []string) ([]byte, error) {
	layer, err := busyboxLayer(busybox, commands)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(layer)
	type manifest struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	var manifests []manifest
	files := []file{{name: "layer.tar", text: layer}}
	for _, i := range imageList() {
		config, err := json.Marshal(map[string]any{
			"architecture": runtime.GOARCH,
			"os":           "linux",
			"config":       map[string]any{"Env": []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, "Entrypoint": i.Entrypoint, "Cmd": i.Cmd},
			"rootfs":       map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(sum[:])}},
		})
		if err != nil {
			return nil, err
		}
		name := sha256.Sum256(config)
		files = append(files, file{name: hex.EncodeToString(name[:]) + ".json", text: config})
		manifests = append(manifests, manifest{files[len(files)-1].name, []string{i.Name}, []string{"layer.tar"}})
	}
	text, err := json.Marshal(manifests)
	if err != nil {
		return nil, err
	}
	return archive(append(files, file{name: "manifest.json", text: text}))
}

func busyboxLayer(busybox []byte, commands []string) ([]byte, error) {
	files := []file{
		{name: "bin/", mode: 0o755}, {name: "etc/", mode: 0o755}, {name: "root/", mode: 0o700},
		{name: "host/", mode: 0o755}, {name: "tmp/", mode: 0o1777},
		{name: "bin/busybox", mode: 0o755, text: busybox},
		{name: "etc/passwd", text: []byte("root:x:0:0:root:/root:/bin/sh\n")},
	}
	for _, c := range commands {
		if c != "busybox" {
			files = append(files, file{name: "bin/" + c, link: "busybox"})
		}
	}
	return archive(files)
}

// file is one entry of an archive; a name that ends in a slash is a folder's.
type file struct {
	name, link string
	mode       int64
	text       []byte
}

func archive(files []file) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.text)), Typeflag: tar.TypeReg}
		switch {
		case f.link != "":
			h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, f.link, 0o777
		case f.name[len(f.name)-1] == '/':
			h.Typeflag = tar.TypeDir
		case f.mode == 0:
			h.Mode = 0o644
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.text); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
