package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
	"github.com/xeipuuv/gojsonschema"
)

// TestBillOfMaterials compares its modules, versions and sums with what `go version -m`
// says of the program.
func TestBillOfMaterials(t *testing.T) {
	dir := releaseOf(t)
	binary := filepath.Join(dir, "linux_amd64", "kubectl-certrot")
	file, err := os.Open(filepath.Join(dir, linux.archive(tag)+".cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(file, cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range *bom.Components {
		sum := ""
		if c.Hashes != nil {
			sum = (*c.Hashes)[0].Value
		}
		got[c.Name+" "+c.Version] = sum
		if c.Name != "std" && (c.Evidence == nil || c.Evidence.Licenses == nil) {
			t.Errorf("%s %s has no license", c.Name, c.Version)
		}
	}
	out, err := exec.Command("go", "version", "-m", binary).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) == 4 && f[0] == "dep" {
			sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(f[3], "h1:"))
			if err != nil {
				t.Fatal(err)
			}
			want[f[1]+" "+f[2]] = fmt.Sprintf("%x", sum)
		}
	}
	if len(want) < 30 {
		t.Fatalf("go version -m names only %d modules:\n%s", len(want), out)
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	want["std "+info.GoVersion] = ""
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("modules (-linked +told):\n%s", diff)
	}
	if main := bom.Metadata.Component; main.Version != tag || main.Name != info.Main.Path {
		t.Errorf("it is of %s %s", main.Name, main.Version)
	}
	if bom.Metadata.Timestamp != "2026-03-04T05:06:07Z" {
		t.Errorf("its time is %s, not that of the sources", bom.Metadata.Timestamp)
	}
	sum, err := sha256Of(binary)
	if err != nil {
		t.Fatal(err)
	}
	if told := fmt.Sprint(*bom.Metadata.Properties); !strings.Contains(told, sum) {
		t.Errorf("it is not of the program with sha256 %s: %s", sum, told)
	}
}

// TestBillOfMaterialsFitsItsSchema reads it by the schema that the library has.
func TestBillOfMaterialsFitsItsSchema(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderrOf(err))
	}
	schemas := filepath.Join(strings.TrimSpace(string(out)), "schema")
	load := func(name string) gojsonschema.JSONLoader {
		data, err := os.ReadFile(filepath.Join(schemas, name))
		if err != nil {
			t.Fatal(err)
		}
		return gojsonschema.NewBytesLoader(data)
	}
	loader := gojsonschema.NewSchemaLoader()
	if err := loader.AddSchemas(load("spdx.schema.json"), load("jsf-0.82.schemax.json")); err != nil {
		t.Fatal(err)
	}
	schema, err := loader.Compile(load("bom-1.6.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	bom, err := os.ReadFile(filepath.Join(releaseOf(t), linux.archive(tag)+".cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	result, err := schema.Validate(gojsonschema.NewBytesLoader(bom))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range result.Errors() {
		t.Error(e)
	}
}
