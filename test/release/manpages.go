package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/util/homedir"

	"github.com/kubectl-certrot/kubectl-certrot/plugin"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
)

// writeManPages writes a page for each command into a folder, by cobra's generator, and
// names them in order.
func writeManPages(dir, version string, made time.Time) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard}
	root := plugin.NewCommand(cli.App{Version: version, ProgramName: "kubectl certrot", Streams: streams})
	forPages(root)
	header := &doc.GenManHeader{Section: "1", Date: &made, Source: "certrot " + version, Manual: "certrot"}
	if err := doc.GenManTree(root, header, dir); err != nil {
		return nil, err
	}
	return filepath.Glob(filepath.Join(dir, "*.1"))
}

// forPages makes of help what a page may say: nothing of this machine and day, and no
// Markdown where none was meant.
func forPages(cmd *cobra.Command) {
	cmd.DisableAutoGenTag = true
	cmd.Long = literal(cmd.Long)
	for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		flags.VisitAll(func(flag *pflag.Flag) {
			if home := homedir.HomeDir(); home != "" {
				flag.DefValue = strings.Replace(flag.DefValue, home, "$HOME", 1)
			}
			flag.Usage = literal(flag.Usage)
		})
	}
	for _, sub := range cmd.Commands() {
		forPages(sub)
	}
}

// literal is a text of help as Markdown that renders to it. Lines that are set in by four
// or more are code there, and stay.
func literal(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "    ") {
			line = strings.NewReplacer(`\`, `\\`, "*", `\*`, "<", `\<`, ">", `\>`, "`", "\\`", "[", `\[`, "]", `\]`).Replace(line)
		}
		b.WriteString(line)
	}
	return b.String()
}

// gzipped writes a file beside another, compressed as packages want pages.
func gzipped(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	zw, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := zw.Write(data); err != nil {
		return "", err
	}
	if err := zw.Close(); err != nil {
		return "", err
	}
	return path + ".gz", os.WriteFile(path+".gz", b.Bytes(), 0o644)
}
