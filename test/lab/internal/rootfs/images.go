package rootfs

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
)

// Names of the images on every node.
const (
	PauseImage = "localhost/lab/pause:1" // what holds a pod's namespaces
	ToolsImage = "localhost/lab/tools:1" // busybox: a shell, nc, wget, …
)

// MultusImage is on the nodes of a lab with multus: busybox and, in MultusPrograms,
// programs of multus-cni.
const (
	MultusImage    = "localhost/lab/multus:1"
	MultusPrograms = "/usr/src/multus-cni/bin"
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

// imageArchive writes what `docker save` would: images of the same layers, from the
// lowest up.
func imageArchive(to io.Writer, images []image, layers ...file) error {
	var names, ids []string
	var files []file
	for i, layer := range layers {
		id, err := layer.sum()
		if err != nil {
			return err
		}
		layer.name = "layer-" + strconv.Itoa(i) + ".tar"
		names, ids, files = append(names, layer.name), append(ids, "sha256:"+id), append(files, layer)
	}
	type manifest struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	var manifests []manifest
	for _, i := range images {
		config, err := json.Marshal(map[string]any{
			"architecture": runtime.GOARCH,
			"os":           "linux",
			"config":       map[string]any{"Env": []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, "Entrypoint": i.Entrypoint, "Cmd": i.Cmd},
			"rootfs":       map[string]any{"type": "layers", "diff_ids": ids},
		})
		if err != nil {
			return err
		}
		name := sha256.Sum256(config)
		files = append(files, file{name: hex.EncodeToString(name[:]) + ".json", text: config})
		manifests = append(manifests, manifest{files[len(files)-1].name, []string{i.Name}, names})
	}
	text, err := json.Marshal(manifests)
	if err != nil {
		return err
	}
	return archive(to, append(files, file{name: "manifest.json", text: text}))
}

func busyboxLayer(busybox []byte, commands []string) (file, error) {
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
	var layer bytes.Buffer
	err := archive(&layer, files)
	return file{text: layer.Bytes()}, err
}

// file is one entry of an archive; a name that ends in a slash is a folder's. What is
// in it is text, or what is in another file.
type file struct {
	name, link string
	mode       int64
	text       []byte
	from       string
}

// open returns what is in the file, and its size.
func (f file) open() (io.ReadCloser, int64, error) {
	if f.from == "" {
		return io.NopCloser(bytes.NewReader(f.text)), int64(len(f.text)), nil
	}
	in, err := os.Open(f.from)
	if err != nil {
		return nil, 0, err
	}
	info, err := in.Stat()
	if err != nil {
		_ = in.Close()
		return nil, 0, err
	}
	return in, info.Size(), nil
}

// sum is the sha256 of what is in the file, in hexadecimal.
func (f file) sum() (string, error) {
	in, _, err := f.open()
	if err != nil {
		return "", err
	}
	defer func() { _ = in.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, in); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func archive(to io.Writer, files []file) error {
	w := tar.NewWriter(to)
	for _, f := range files {
		if err := f.write(w); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return w.Close()
}

func (f file) write(w *tar.Writer) error {
	in, size, err := f.open()
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	h := &tar.Header{Name: f.name, Mode: f.mode, Size: size, Typeflag: tar.TypeReg}
	switch {
	case f.link != "":
		h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, f.link, 0o777
	case f.name[len(f.name)-1] == '/':
		h.Typeflag = tar.TypeDir
	case f.mode == 0:
		h.Mode = 0o644
	}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(w, in)
	return err
}
