package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// platform is an operating system and processor, as Go calls them.
type platform struct{ OS, Arch string }

// platforms are all for which the plugin is published.
func platforms() []platform {
	return []platform{
		{"linux", "amd64"}, {"linux", "arm64"}, {"linux", "ppc64le"}, {"linux", "s390x"},
		{"darwin", "amd64"}, {"darwin", "arm64"},
		{"windows", "amd64"}, {"windows", "arm64"},
	}
}

// platformsNamed are those of a list such as linux/amd64,linux/s390x; empty: all.
func platformsNamed(list string) (named []platform, err error) {
	if list == "" {
		return platforms(), nil
	}
	for _, name := range strings.Split(list, ",") {
		system, arch, _ := strings.Cut(name, "/")
		p := platform{system, arch}
		if !slices.Contains(platforms(), p) {
			return nil, fmt.Errorf("the plugin is not published for %q; for %v it is", name, platforms())
		}
		named = append(named, p)
	}
	return named, nil
}

// String is how container images and Go's documentation name it.
func (p platform) String() string { return p.OS + "/" + p.Arch }

// folder is where its program is made.
func (p platform) folder() string { return p.OS + "_" + p.Arch }

// binary is the program's file name there.
func (p platform) binary() string {
	if p.OS == "windows" {
		return "kubectl-certrot.exe"
	}
	return "kubectl-certrot"
}

// archive is the archive's file name.
func (p platform) archive(version string) string {
	ext := "tar.gz"
	if p.OS == "windows" {
		ext = "zip"
	}
	return fmt.Sprintf("kubectl-certrot_%s_%s_%s.%s", version, p.OS, p.Arch, ext)
}

// file is what goes into an archive.
type file struct {
	Name string // in the archive
	From string // on disk
	Mode os.FileMode
}

// parts is what is published of a platform beside what the checkout has, on disk.
type parts struct {
	binary   string
	notice   string // the licenses of the modules that are linked
	manPages []string
}

// contents of an archive, in order: krew-index asks for the license, and the
// shim makes completion work.
func contents(root string, p platform, parts parts) []file {
	files := []file{
		{"LICENSE", filepath.Join(root, "LICENSE"), 0o644},
		{filepath.Base(parts.notice), parts.notice, 0o644},
		{p.binary(), parts.binary, 0o755},
	}
	if p.OS == "windows" { // which has neither sh nor man
		return files
	}
	files = append(files, file{"kubectl_complete-certrot", filepath.Join(root, "completions", "kubectl_complete-certrot"), 0o755})
	for _, page := range parts.manPages {
		files = append(files, file{"man/man1/" + filepath.Base(page), page, 0o644})
	}
	return files
}

// pack writes an archive of files to path; made is their time.
func pack(path string, p platform, files []file, made time.Time) (err error) {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if e := out.Close(); err == nil {
			err = e
		}
	}()
	write := writeTarGz
	if p.OS == "windows" {
		write = writeZip
	}
	if err := write(out, files, made); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func writeTarGz(w io.Writer, files []file, made time.Time) error {
	zw, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	tw := tar.NewWriter(zw)
	for _, f := range files {
		if err := addToTar(tw, f, made); err != nil {
			return err
		}
	}
	if err := tw.Close(); err != nil {
		return err
	}
	return zw.Close()
}

// addToTar adds a file of disk, which belongs to root there.
func addToTar(tw *tar.Writer, f file, made time.Time) error {
	data, err := os.ReadFile(f.From)
	if err != nil {
		return err
	}
	if err := tw.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg,
		Name:     f.Name,
		Size:     int64(len(data)),
		Mode:     int64(f.Mode),
		ModTime:  made,
		Format:   tar.FormatUSTAR,
	}); err != nil {
		return err
	}
	_, err = tw.Write(data)
	return err
}

func writeZip(w io.Writer, files []file, made time.Time) error {
	zw := zip.NewWriter(w)
	for _, f := range files {
		data, err := os.ReadFile(f.From)
		if err != nil {
			return err
		}
		h := &zip.FileHeader{Name: f.Name, Method: zip.Deflate, Modified: made}
		h.SetMode(f.Mode)
		fw, err := zw.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := fw.Write(data); err != nil {
			return err
		}
	}
	return zw.Close()
}
