package main

import (
	"debug/buildinfo"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLicenses checks the modules of every platform's program, without building it.
func TestLicenses(t *testing.T) {
	for _, p := range platforms() {
		modules, err := linkedModules(root, p)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkLicenses(modules); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// TestLicensesAreOfWhatIsLinked compares with what the program says of itself.
func TestLicensesAreOfWhatIsLinked(t *testing.T) {
	modules, err := linkedModules(root, linux)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(releaseOf(t), "linux_amd64")
	info, err := buildinfo.ReadFile(filepath.Join(dir, "kubectl-certrot"))
	if err != nil {
		t.Fatal(err)
	}
	want, got := []string{"std " + info.GoVersion}, []string{}
	for _, dep := range info.Deps {
		want = append(want, dep.Path+" "+dep.Version)
	}
	for _, m := range modules {
		got = append(got, m.path+" "+m.version)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("licenses are of %v,\nlinked are %v", got, want)
	}
	notice, err := os.ReadFile(filepath.Join(dir, "THIRD_PARTY_LICENSES"))
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range want {
		if !strings.Contains(string(notice), "\n"+module+"\n") {
			t.Errorf("THIRD_PARTY_LICENSES lacks %s", module)
		}
	}
}

func TestLicensesThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) []string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return []string{path}
	}
	gpl := "This program is free software: you can redistribute it and/or modify it under the terms of the GNU General Public License as published by the Free Software Foundation, either version 3 of the License, or (at your option) any later version."
	for _, c := range []struct {
		name  string
		files []string
		want  string
	}{
		{"no file", nil, "example.com/a v1 has no license"},
		{"only a notice", write("NOTICE", "Copyright by its authors."), "example.com/a v1 has no license"},
		{"another license", write("LICENSE", gpl), "example.com/a v1 is under GPL-3.0"},
		{"a text of its own", write("COPYING", "Do with it what you like, but be nice to those who wrote it."), "only 0 %"},
	} {
		err := checkLicenses([]licensed{{path: "example.com/a", version: "v1", files: c.files}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}
