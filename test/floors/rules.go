package floors

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

const module = "github.com/kubectl-certrot/kubectl-certrot"

// floor is a folder and all below it. A package may import its own floor and
// what the floor names.
type floor struct {
	dir     string   // relative to the module
	imports []string // other floors it may import
	why     string   // it may not import more
}

// floors are all of them, from the top down. The longest dir that fits is a
// package's floor.
func floors() []floor {
	return []floor{
		{"cmd", []string{"plugin", "plugin/cli"},
			"main passes arguments and streams to plugin, and does nothing else"},
		{"plugin", []string{"plugin/inspectcmd", "plugin/verifycmd", "plugin/snapshotcmd", "plugin/fixapiintcmd", "plugin/fixkubeconfigcmd", "plugin/rotatecmd", "plugin/undocmd", "plugin/apply", "plugin/connect", "plugin/cli", "plugin/ui", "completions", "remediate/undo", "remediate/rotate", "remediate/apiint", "remediate/preflight", "remediate/action", "remediate/csr", "remediate/kubeconfig", "remediate", "inspect/collect", "inspect/report", "inspect/cause", "inspect/trust", "inspect/check", "inspect/assess", "inspect", "inspect/catalog", "inspect/pki", "nodeexec", "foreign"},
			"plugin registers the commands"},
		{"plugin/fixapiintcmd", []string{"plugin/verifycmd", "plugin/apply", "plugin/connect", "plugin/cli", "plugin/ui", "remediate/undo", "remediate/rotate", "remediate/apiint", "remediate/preflight", "remediate/action", "remediate/csr", "remediate/kubeconfig", "remediate", "inspect/collect", "inspect/report", "inspect/cause", "inspect/trust", "inspect/check", "inspect/assess", "inspect", "inspect/catalog", "inspect/pki", "nodeexec", "foreign"},
			"a command knows those that it runs itself, and no other"},
		{"plugin/fixkubeconfigcmd", []string{"plugin/apply", "plugin/connect", "plugin/cli", "plugin/ui", "remediate/undo", "remediate/rotate", "remediate/apiint", "remediate/preflight", "remediate/action", "remediate/csr", "remediate/kubeconfig", "remediate", "inspect/collect", "inspect/report", "inspect/cause", "inspect/trust", "inspect/check", "inspect/assess", "inspect", "inspect/catalog", "inspect/pki", "nodeexec", "foreign"},
			"a command knows those that it runs itself, and no other"},
		{"plugin/rotatecmd", []string{"plugin/apply", "plugin/connect", "plugin/cli", "plugin/ui", "remediate/undo", "remediate/rotate", "remediate/apiint", "remediate/preflight", "remediate/action", "remediate/csr", "remediate/kubeconfig", "remediate", "inspect/collect", "inspect/report", "inspect/cause", "inspect/trust", "inspect/check", "inspect/assess", "inspect", "inspect/catalog", "inspect/pki", "nodeexec", "foreign"},
			"a command knows those that it runs itself, and no other"},
		{"plugin/undocmd", []string{"plugin/apply", "plugin/connect", "plugin/cli", "plugin/ui", "remediate/undo", "remediate/rotate", "remediate/apiint", "remediate/preflight", "remediate/action", "remediate/csr", "remediate/kubeconfig", "remediate", "inspect/collect", "inspect/report", "inspect/cause", "inspect/trust", "inspect/check", "inspect/assess", "inspect", "inspect/catalog", "inspect/pki", "nodeexec", "foreign"},
			"a command knows those that it runs itself, and no other"},
		{"plugin/snapshotcmd", []string{"plugin/apply", "plugin/connect", "plugin/cli", "plugin/ui", "remediate/undo", "remediate/rotate", "remediate/apiint", "remediate/preflight", "remediate/action", "remediate/csr", "remediate/kubeconfig", "remediate", "inspect/collect", "inspect/report", "inspect/cause", "inspect/trust", "inspect/check", "inspect/assess", "inspect", "inspect/catalog", "inspect/pki", "nodeexec", "foreign"},
			"a command knows those that it runs itself, and no other"},
		{"plugin/verifycmd", []string{"plugin/apply", "plugin/connect", "plugin/cli", "plugin/ui", "remediate/undo", "remediate/rotate", "remediate/apiint", "remediate/preflight", "remediate/action", "remediate/csr", "remediate/kubeconfig", "remediate", "inspect/collect", "inspect/report", "inspect/cause", "inspect/trust", "inspect/check", "inspect/assess", "inspect", "inspect/catalog", "inspect/pki", "nodeexec", "foreign"},
			"a command knows those that it runs itself, and no other"},
		{"plugin/inspectcmd", []string{"plugin/apply", "plugin/connect", "plugin/cli", "plugin/ui", "remediate/undo", "remediate/rotate", "remediate/apiint", "remediate/preflight", "remediate/action", "remediate/csr", "remediate/kubeconfig", "remediate", "inspect/collect", "inspect/report", "inspect/cause", "inspect/trust", "inspect/check", "inspect/assess", "inspect", "inspect/catalog", "inspect/pki", "nodeexec", "foreign"},
			"a command knows those that it runs itself, and no other"},
		{"plugin/apply/applytest", []string{"plugin/plugintest", "plugin/apply", "plugin/connect", "plugin/cli", "plugin/ui", "remediate/undo", "remediate/rotate", "remediate/apiint", "remediate/preflight", "remediate/action", "remediate/csr", "remediate/kubeconfig", "remediate", "inspect/collect", "inspect/report", "inspect/cause", "inspect/trust", "inspect/check", "inspect/assess", "inspect", "inspect/catalog", "inspect/pki", "nodeexec", "foreign"},
			"a helper of tests needs no more than what it helps to test"},
		{"plugin/plugintest", []string{"plugin/ui", "remediate/undo", "remediate/rotate", "remediate/apiint", "remediate/preflight", "remediate/action", "remediate/csr", "remediate/kubeconfig", "remediate", "inspect/collect", "inspect/report", "inspect/cause", "inspect/trust", "inspect/check", "inspect/assess", "inspect", "inspect/catalog", "inspect/pki", "nodeexec", "foreign"},
			"a helper of tests needs no more than what it helps to test"},
		{"plugin/apply", []string{"plugin/connect", "plugin/cli", "plugin/ui", "remediate/undo", "remediate/rotate", "remediate/apiint", "remediate/preflight", "remediate/action", "remediate/csr", "remediate/kubeconfig", "remediate", "inspect/collect", "inspect/report", "inspect/cause", "inspect/trust", "inspect/check", "inspect/assess", "inspect", "inspect/catalog", "inspect/pki", "nodeexec", "foreign"},
			"what all commands share that change something knows none of them"},
		{"plugin/connect", []string{"plugin/cli", "plugin/ui", "remediate/undo", "remediate/rotate", "remediate/apiint", "remediate/preflight", "remediate/action", "remediate/csr", "remediate/kubeconfig", "remediate", "inspect/collect", "inspect/report", "inspect/cause", "inspect/trust", "inspect/check", "inspect/assess", "inspect", "inspect/catalog", "inspect/pki", "nodeexec", "foreign"},
			"connect goes from flags to clients; what for is the commands'"},
		{"plugin/cli", []string{"plugin/ui", "remediate/undo", "remediate/rotate", "remediate/apiint", "remediate/preflight", "remediate/action", "remediate/csr", "remediate/kubeconfig", "remediate", "inspect/collect", "inspect/report", "inspect/cause", "inspect/trust", "inspect/check", "inspect/assess", "inspect", "inspect/catalog", "inspect/pki", "nodeexec", "foreign"},
			"cli is what every command needs: the program's name, its streams, its exit codes"},
		{"plugin/ui", []string{"remediate/undo", "remediate/rotate", "remediate/apiint", "remediate/preflight", "remediate/action", "remediate/csr", "remediate/kubeconfig", "remediate", "inspect/collect", "inspect/report", "inspect/cause", "inspect/trust", "inspect/check", "inspect/assess", "inspect", "inspect/catalog", "inspect/pki", "nodeexec", "foreign"},
			"ui prints; where a text is from is no business of its"},
		{"remediate/undo", []string{"remediate/apiint", "remediate/action", "remediate/csr", "remediate/kubeconfig", "remediate", "inspect/collect", "inspect/trust", "inspect/check", "inspect/assess", "inspect", "inspect/catalog", "inspect/pki", "nodeexec", "foreign"},
			"undo puts back what other plans did, so that it knows them and they do not know it"},
		{"remediate/rotate", []string{"remediate/preflight", "remediate/action", "remediate/csr", "remediate", "inspect/collect", "inspect/trust", "inspect/check", "inspect/assess", "inspect", "inspect/catalog", "inspect/pki", "nodeexec", "foreign"},
			"rotate is one repair; what repairs share is below them"},
		{"remediate/apiint", []string{"remediate/preflight", "remediate/action", "remediate/csr", "remediate/kubeconfig", "remediate", "inspect/collect", "inspect/trust", "inspect/check", "inspect/assess", "inspect", "inspect/catalog", "inspect/pki", "nodeexec", "foreign"},
			"apiint is one repair; what repairs share is below them"},
		{"remediate/preflight", []string{"remediate/action", "remediate/csr", "remediate", "inspect/collect", "inspect/trust", "inspect/check", "inspect/assess", "inspect", "inspect/catalog", "inspect/pki", "nodeexec", "foreign"},
			"checks before a change are every repair's; they know no repair"},
		{"remediate/action", []string{"remediate/csr", "remediate/kubeconfig", "remediate", "inspect/collect", "inspect/trust", "inspect/check", "inspect/assess", "inspect", "inspect/catalog", "inspect/pki", "nodeexec", "foreign"},
			"an action is one small change; in which order they come is a repair's"},
		{"remediate/csr", []string{"remediate", "inspect/collect", "inspect/trust", "inspect/check", "inspect/assess", "inspect", "inspect/catalog", "inspect/pki", "nodeexec", "foreign"},
			"csr says whose a request is; who waits for it stands above"},
		{"remediate/kubeconfig", []string{"inspect", "inspect/catalog", "inspect/pki", "foreign"},
			"a kubeconfig is edited as text; why is no business of its"},
		{"remediate", []string{"remediate/kubeconfig", "inspect/collect", "inspect/trust", "inspect/check", "inspect/assess", "inspect", "inspect/catalog", "inspect/pki", "nodeexec", "foreign"},
			"the engine runs a plan without knowing what its actions do, or that there is a command line"},
		{"inspect/collect", []string{"inspect", "inspect/catalog", "inspect/pki", "nodeexec", "foreign"},
			"collect reads; it judges nothing, and what is done about it is remediate's"},
		{"inspect/cause", []string{"inspect/assess", "inspect", "inspect/catalog", "inspect/pki", "foreign"},
			"cause folds what others found; it judges nothing"},
		{"inspect/report", []string{"inspect/cause", "inspect/trust", "inspect/check", "inspect/assess", "inspect", "inspect/catalog", "inspect/pki", "foreign"},
			"report makes documents of facts and of what was found"},
		{"inspect/trust", []string{"inspect/assess", "inspect", "inspect/catalog", "inspect/pki", "foreign"},
			"trust judges pairs of client and server; checks judge places"},
		{"inspect/check", []string{"inspect/trust", "inspect/assess", "inspect", "inspect/catalog", "inspect/pki", "foreign"},
			"checks are functions from values to values: a Snapshot from a file must be judged as one from a cluster is"},
		{"inspect/assess", []string{"inspect/pki", "foreign"},
			"assess is what a judgement says, whoever judged"},
		{"inspect", []string{"inspect/catalog", "inspect/pki", "foreign"},
			"inspect holds the facts; whoever reads or judges them stands above"},
		{"inspect/catalog", []string{"inspect/pki", "foreign"},
			"the catalog is tables; code that reads or judges does not belong there"},
		{"inspect/pki", []string{"foreign"},
			"pki knows certificates and nothing else, so that it can be fuzzed and trusted"},
		{"nodeexec", []string{"foreign"},
			"nodeexec is how to get onto a node; what for is no business of its"},
		{"foreign", nil,
			"foreign is texts made fit to be printed; every floor may use it"},
		{"completions", nil,
			"completions is files with a way to embed them"},
		{"test", []string{"plugin", "plugin/cli", "remediate/undo", "remediate/rotate", "remediate/apiint", "remediate/preflight", "remediate/action", "remediate/csr", "remediate/kubeconfig", "remediate", "inspect/collect", "inspect/report", "inspect/cause", "inspect/trust", "inspect/check", "inspect/assess", "inspect", "inspect/catalog", "inspect/pki", "nodeexec", "foreign", "completions"},
			"tests see everything"},
	}
}

// commandLine are the floors of plugin and below it.
func commandLine() (out []string) {
	for _, f := range floors() {
		if f.dir == "plugin" || strings.HasPrefix(f.dir, "plugin/") {
			out = append(out, f.dir)
		}
	}
	return out
}

// ban keeps some packages out of floors.
type ban struct {
	packages []string // path.Match patterns; "x/..." is x and all below
	from     []string // floors where it holds; nil: every floor
	except   []string // floors where it does not
	// through says that it also holds for what third-party packages import.
	through bool
	why     string
}

func bans() []ban {
	pure := []string{"inspect/report", "inspect/cause", "inspect/trust", "inspect/check", "inspect/assess", "inspect", "inspect/catalog", "inspect/pki", "foreign"}
	clients := []string{"k8s.io/client-go/...", "k8s.io/apiserver/...", "k8s.io/kubectl/...", "k8s.io/cli-runtime/..."}
	return []ban{
		{
			packages: []string{"os", "os/exec", "os/user", "io/ioutil", "syscall", "golang.org/x/sys/...", "net", "net/http", "net/rpc", "crypto/tls", "database/sql", "log", "log/slog", "log/syslog"},
			from:     pure,
			why:      "this floor does no IO: values in, values out. Read in inspect/collect and pass the bytes or the fact",
		},
		{
			packages: clients,
			from:     pure,
			through:  true,
			why:      "this floor does not know that there is an API server. Read in inspect/collect and pass the fact",
		},
		{
			packages: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "k8s.io/cli-runtime/...", "k8s.io/kubectl/...", "golang.org/x/term"},
			except:   append(commandLine(), "cmd", "test"),
			why:      "only plugin knows flags, printers and terminals; below it, take values and return values",
		},
		{
			packages: []string{"k8s.io/kubernetes/...", "github.com/openshift/...", "go.etcd.io/etcd/..."},
			through:  true,
			why:      "the plugin ships without a control plane in it; the lab and its parts are a module of their own (test/lab/components)",
		},
		{
			packages: []string{module + "/test/..."},
			except:   []string{"test"},
			why:      "what ships must not depend on how it is tested",
		},
		{
			packages: []string{"testing", "testing/..."},
			except:   []string{"test"},
			why:      "the test package registers its flags in whatever imports it; test helpers live in packages named …test",
		},
	}
}

// names that say nothing about what is in the package.
func meaningless() []string {
	return []string{"util", "utils", "common", "helper", "helpers", "type", "types", "manager", "misc", "base", "shared", "lib"}
}

// pkg is what `go list -json` says, as far as the rules ask.
type pkg struct {
	ImportPath   string
	Name         string
	Dir          string
	Standard     bool
	GoFiles      []string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// violations judges all packages of the module; others are there to be
// followed.
func violations(pkgs []pkg) []string {
	byPath := map[string]pkg{}
	for _, p := range pkgs {
		byPath[p.ImportPath] = p
	}
	var found []string
	for _, p := range pkgs {
		dir, own := relative(p.ImportPath)
		if !own {
			continue
		}
		for _, name := range []string{p.Name, path.Base(p.ImportPath)} {
			if slices.Contains(meaningless(), strings.TrimSuffix(name, "_test")) {
				found = append(found, fmt.Sprintf("%s: the name %q says nothing; name the package after what a user would call its subject", dir, name))
				break
			}
		}
		f, ok := floorOf(dir)
		if !ok {
			found = append(found, fmt.Sprintf("%s: no floor has this folder; add it to floors() with what it may import and why", dir))
			continue
		}
		found = append(found, upward(dir, f, p.Imports)...)
		for _, b := range bans() {
			found = append(found, b.violated(dir, f, p, byPath)...)
		}
		if f.dir != "test" {
			for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
				if strings.HasPrefix(imported, module+"/test/") {
					found = append(found, fmt.Sprintf("%s: its tests import %s; move the test to test/, or the helper to a …test package beside its subject", dir, imported))
				}
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// upward finds imports of floors that are not below.
func upward(dir string, f floor, imports []string) []string {
	var found []string
	for _, imported := range imports {
		to, own := relative(imported)
		if !own || to == "test" || strings.HasPrefix(to, "test/") { // a ban of its own
			continue
		}
		target, ok := floorOf(to)
		if ok && target.dir != f.dir && !slices.Contains(f.imports, target.dir) {
			found = append(found, fmt.Sprintf("%s imports %s: %s", dir, to, f.why))
		}
	}
	return found
}

func (b ban) violated(dir string, f floor, p pkg, byPath map[string]pkg) []string {
	if b.from != nil && !slices.Contains(b.from, f.dir) || slices.Contains(b.except, f.dir) {
		return nil
	}
	if isTestHelper(dir) && !b.through {
		return nil
	}
	var found []string
	for _, imported := range p.Imports {
		if b.has(imported) {
			found = append(found, fmt.Sprintf("%s imports %s: %s", dir, short(imported), b.why))
			continue
		}
		if _, own := relative(imported); own || !b.through {
			continue // judged by itself
		}
		if way := b.way(imported, byPath, map[string]bool{}); way != nil {
			found = append(found, fmt.Sprintf("%s imports %s: %s", dir, strings.Join(way, " imports "), b.why))
		}
	}
	return found
}

// way leads from a third-party package to what is banned.
func (b ban) way(from string, byPath map[string]pkg, seen map[string]bool) []string {
	if seen[from] || byPath[from].Standard {
		return nil
	}
	seen[from] = true
	for _, imported := range byPath[from].Imports {
		if b.has(imported) {
			return []string{from, imported}
		}
		if rest := b.way(imported, byPath, seen); rest != nil {
			return append([]string{from}, rest...)
		}
	}
	return nil
}

func (b ban) has(imported string) bool {
	return slices.ContainsFunc(b.packages, func(p string) bool {
		tree, ok := strings.CutSuffix(p, "/...")
		return imported == tree || ok && strings.HasPrefix(imported, tree+"/")
	})
}

func floorOf(dir string) (floor, bool) {
	var best floor
	for _, f := range floors() {
		if (dir == f.dir || strings.HasPrefix(dir, f.dir+"/")) && cmp.Compare(len(f.dir), len(best.dir)) > 0 {
			best = f
		}
	}
	return best, best.dir != ""
}

// isTestHelper reports whether only tests import a package, by convention of
// its name: pkitest, labtest.
func isTestHelper(dir string) bool { return strings.HasSuffix(path.Base(dir), "test") && dir != "test" }

func relative(importPath string) (dir string, own bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

func short(importPath string) string { return strings.TrimPrefix(importPath, module+"/") }
