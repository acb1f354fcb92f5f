package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// published is the files of a release that users download, in order.
type published struct {
	dir   string
	names []string
	sums  map[string]string
}

// add takes a file of the folder among them.
func (p *published) add(name string) error {
	sum, err := sha256Of(filepath.Join(p.dir, name))
	if err != nil {
		return err
	}
	if p.sums == nil {
		p.sums = map[string]string{}
	}
	p.names, p.sums[name] = append(p.names, name), sum
	fmt.Fprintf(os.Stdout, "%s  %s\n", sum, filepath.Join(p.dir, name))
	return nil
}

// sumOf is the sha256 of a file.
func (p *published) sumOf(name string) (string, error) {
	if sum, ok := p.sums[name]; ok {
		return sum, nil
	}
	return "", fmt.Errorf("no file of the release is named %s", name)
}

// writeChecksums writes checksums.txt, for sha256sum -c.
func (p *published) writeChecksums() error {
	text := ""
	for _, name := range p.names {
		text += p.sums[name] + "  " + name + "\n"
	}
	return os.WriteFile(filepath.Join(p.dir, "checksums.txt"), []byte(text), 0o644)
}

func sha256Of(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
