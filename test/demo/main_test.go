package main

import (
	"bytes"
	"os"
	"testing"
)

// TestCommittedDemoIsCurrent verifies that the committed snapshot is what this
// program writes: make generate.
func TestCommittedDemoIsCurrent(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := write(&out); err != nil {
		t.Fatal(err)
	}
	committed, err := os.ReadFile("../../testdata/demo/okd-4.15-api-int.certrot")
	if err != nil || !bytes.Equal(committed, out.Bytes()) {
		t.Errorf("testdata/demo is not current (%v): make generate", err)
	}
}
