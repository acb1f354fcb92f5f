package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// printDocument prints what a program reads, as "json" or "yaml".
func printDocument(out io.Writer, format string, d any) error {
	raw, err := json.MarshalIndent(d, "", "    ")
	if err == nil && format == "yaml" {
		raw, err = yaml.JSONToYAML(raw)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", bytes.TrimSpace(raw))
	return err
}
