package fixapiintcmd

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kubectl-certrot/kubectl-certrot/plugin/apply"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/connect"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/plugintest"
	"github.com/kubectl-certrot/kubectl-certrot/remediate/preflight"
)

// options are what a command line of fix-api-int comes to.
func options(t *testing.T, line string) (*fixOptions, error) {
	t.Helper()
	f := &fixFlags{repairFlags: newRepairFlags(cli.App{ProgramName: "certrot"}, &cli.ConfigFlags{})}
	cmd := &cobra.Command{}
	f.AddFlags(cmd, "", connect.AllNodes)
	f.addSources(cmd)
	addEmitFlag(cmd, &f.scripts)
	f.addFlags(cmd)
	if err := cmd.ParseFlags(strings.Fields(line)); err != nil {
		t.Fatal(err)
	}
	return f.toOptions(t.Context())
}

// TestWhatARunNeedsIsInItsOptions: nothing of it is found out from flags while it goes on.
func TestWhatARunNeedsIsInItsOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line  string
		holds func(*fixOptions) bool
	}{
		{"", func(o *fixOptions) bool { return !o.named() && o.Purpose == connect.Writing(nil, false) }},
		{"--via ssh", func(o *fixOptions) bool { return o.after.line == "certrot verify api-int --nodes all --via ssh" }},
		{"--via ssh", func(o *fixOptions) bool { return o.after.reading.Nodes.Served && len(o.after.reading.Nodes.Names) == 0 }},
		{"--nodes a,b", func(o *fixOptions) bool { return o.named() && slices.Equal(o.Nodes.Names, []string{"a", "b"}) }},
		{"--nodes all", func(o *fixOptions) bool { return !o.named() }},
		{"--local", func(o *fixOptions) bool { return o.named() && o.Nodes.Local }},
		{"--only masters --max-unavailable 10%", func(o *fixOptions) bool { return o.order.Only[0] == "masters" && o.order.MaxUnavailable.Percent }},
		{"--accept-risk workers-back", func(o *fixOptions) bool { return slices.Equal(o.order.Accept, []string{preflight.WorkersBack}) }},
		{"--ca-file ca.crt", func(o *fixOptions) bool { return o.Purpose == connect.Writing(nil, true) && o.source.file == "ca.crt" }},
		{"--api-ca-from ssh://m", func(o *fixOptions) bool {
			return o.Purpose == connect.Writing(nil, true) && o.source.master.From == "ssh://m"
		}},
		{"--nodes a --rebootstrap", func(o *fixOptions) bool { return o.rebootstrap && o.Nodes.RestartProbe }},
		{"--nodes a --emit-script no-such-folder", func(o *fixOptions) bool { return o.preflight.Script && o.scripts == "no-such-folder" }},
		{"--pause-remediation", func(o *fixOptions) bool { return o.preflight.Pause && !o.preflight.Script }},
		{"--restart-network=never", func(o *fixOptions) bool { return o.network.Restart == "never" }},
	} {
		if o, err := options(t, c.line); err != nil || !c.holds(o) {
			t.Errorf("%s: %+v, %v", c.line, o, err)
		}
	}
}

// TestFlagsAreRefusedBeforeAnythingIsRead: neither the file of CAs nor the snapshot is there.
func TestFlagsAreRefusedBeforeAnythingIsRead(t *testing.T) {
	t.Parallel()
	full := filepath.Dir(plugintest.WriteFile(t, "earlier.sh", "#!/bin/sh\n"))
	for line, want := range map[string]string{
		"--ca-file no-such --api-ca-from ssh://m":                     "two sources of the CA",
		"--ca-file no-such --nodes a --only masters":                  "--only and --max-unavailable are for all nodes",
		"--ca-file no-such --emit-script scripts --only masters":      "a script is for one node",
		"--ca-file no-such --emit-script " + full:                     "earlier.sh is in it already",
		"--from no-such --emit-script scripts -o json":                "-o is the form of a plan",
		"--from no-such --dry-run --nodes a --max-unavailable 2":      "--only and --max-unavailable are for all nodes",
		"--from no-such --dry-run --api-ca-from ssh://m":              "--api-ca-from goes with a live cluster, and --from reads a file: leave one of them out",
		"--from no-such --dry-run --ca-file no-such --via ssh":        "--via goes with a live cluster, and --from reads a file: leave one of them out",
		"--from no-such --dry-run --nodes a --ssh-user core":          "--ssh-user goes with a live cluster",
		"--from no-such --dry-run --debug-image x":                    "--debug-image goes with a live cluster",
		"--api-ca-from nowhere --nodes a":                             "--api-ca-from \"nowhere\" is not of the form",
		"--ca-file no-such --nodes a --rebootstrap --emit-script new": "--rebootstrap and --emit-script",
	} {
		if _, err := options(t, line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// TestCommandsThatGoOn: where nodes are named, no other node is left out.
func TestCommandsThatGoOn(t *testing.T) {
	t.Parallel()
	lines := commandLines{resume: "again", allWaves: "all", namedNodes: "named"}
	for _, c := range []struct {
		name  string
		file  string
		risks []string
		all   bool
		want  apply.Lines
	}{
		{"named nodes", "ca.crt", nil, false, apply.Lines{Resume: "again", NamedNodes: "named"}},
		{"all nodes", "", nil, true, apply.Lines{Resume: "again", NamedNodes: "named", PastMasters: apply.PastMasters("all", nil), PastWorkers: "again --accept-risk=workers-back"}},
		{"all nodes, and a worker is left out already", "", []string{preflight.WorkersBack}, true, apply.Lines{Resume: "again", NamedNodes: "named", PastMasters: apply.PastMasters("all", []string{preflight.WorkersBack})}},
		{"CAs from standard input", "-", nil, false, apply.Lines{Resume: "again # with the same CAs on its standard input once more", NamedNodes: "named"}},
	} {
		o := &fixOptions{repairOptions: repairOptions{source: caSource{file: c.file}}, preflight: apply.PreflightOptions{Risks: c.risks}, lines: lines}
		if got := o.linesFor(c.all); got != c.want {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
