package main

import (
	"bytes"
	"os"
	"testing"
)

// TestCommittedDemoIsCurrent verifies that the committed snapshot is what this
// program writes; UPDATE=1 writes it.
func TestCommittedDemoIsCurrent(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := write(&out); err != nil {
		t.Fatal(err)
	}
	const file = "../../testdata/demo/okd-4.15-api-int.certrot"
	if os.Getenv("UPDATE") != "" {
		if err := run(file); err != nil {
			t.Fatal(err)
		}
	}
	committed, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(committed, out.Bytes()) {
		t.Errorf("testdata/demo is not current (%v): UPDATE=1 go test ./test/demo", err)
	}
}
