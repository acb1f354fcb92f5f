//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/labtest"
)

// permission is one row of the table in docs/permissions.md, for one resource
// and one namespace ("" is all).
type permission struct{ group, resource, namespace string }

// permissions reads the rows for a way: the verbs of each.
func permissions(t *testing.T, way string) map[permission][]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/permissions.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[permission][]string{}
	for line := range strings.SplitSeq(string(text), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 7 || strings.HasPrefix(line, "|--") {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if cells[1] != way && cells[1] != "every" {
			continue
		}
		for ns := range strings.SplitSeq(cells[5], ", ") {
			if ns == "all" {
				ns = ""
			}
			p := permission{cells[4], cells[3], ns}
			rows[p] = append(rows[p], strings.Split(cells[2], ", ")...)
		}
	}
	if len(rows) < 8 {
		t.Fatalf("the table has %d rows for %s", len(rows), way)
	}
	return rows
}

// grant gives a user these permissions and no others.
func grant(t *testing.T, w *world, user string, rows map[permission][]string) {
	t.Helper()
	var objects []any
	rules := map[string][]any{} // by namespace
	for p, verbs := range rows {
		rules[p.namespace] = append(rules[p.namespace], map[string]any{"apiGroups": []string{p.group}, "resources": []string{p.resource}, "verbs": verbs})
	}
	subject := []any{map[string]any{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}}
	for ns, r := range rules {
		kind, meta := "ClusterRole", map[string]any{"name": user}
		if ns != "" {
			kind, meta = "Role", map[string]any{"name": user, "namespace": ns}
		}
		objects = append(objects, map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": meta, "rules": r},
			map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind + "Binding", "metadata": meta, "subjects": subject,
				"roleRef": map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": user}})
	}
	list, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if out, err := w.kubectl(list, "delete", "--ignore-not-found", "-f", "-"); err != nil {
			t.Errorf("remove the permissions of %s: %v\n%s", user, err, out)
		}
	})
	if out, err := w.kubectl(list, "apply", "-f", "-"); err != nil {
		t.Fatalf("grant permissions to %s: %v\n%s", user, err, out)
	}
}

// requests are what a user asked for, by the audit log from an offset on.
func requests(t *testing.T, log string, from int64, user string) map[permission]map[string]int {
	t.Helper()
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // read only
	if _, err := f.Seek(from, 0); err != nil {
		t.Fatal(err)
	}
	asked := map[permission]map[string]int{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if !bytes.Contains(lines.Bytes(), []byte(user)) {
			continue
		}
		var e struct {
			Verb             string
			ImpersonatedUser struct{ Username string }
			ObjectRef        struct{ Resource, Subresource, Namespace, APIGroup string }
			ResponseStatus   struct{ Code int }
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.ImpersonatedUser.Username != user || e.ObjectRef.Resource == "" {
			continue
		}
		p := permission{e.ObjectRef.APIGroup, e.ObjectRef.Resource, e.ObjectRef.Namespace}
		if e.ObjectRef.Subresource != "" {
			p.resource += "/" + e.ObjectRef.Subresource
		}
		if p.resource == "namespaces" {
			p.namespace = ""
		}
		if asked[p] == nil {
			asked[p] = map[string]int{}
		}
		asked[p][e.Verb] = e.ResponseStatus.Code
	}
	return asked
}

// TestPermissionsAreEnoughAndNoMore reads a node as a user who has what the table
// says, and looks in the audit log for what was asked.
func TestPermissionsAreEnoughAndNoMore(t *testing.T) {
	w := enter(t)
	lab := labtest.RequireNodes(t)
	node := lab.Workers()[len(lab.Workers())-1]
	log := filepath.Join(lab.Dir, "log", "audit.log")
	for _, way := range []string{"exec", "debug", "ssh"} {
		t.Run(way, func(t *testing.T) {
			user := fmt.Sprintf("%s-reads-nodes-by-%s", w.planted.id, way)
			rows := permissions(t, way)
			grant(t, w, user, rows)
			info, err := os.Stat(log)
			if err != nil {
				t.Fatal(err)
			}
			args := []string{"inspect", "nodes", node, "--via", way, "--as", user, "-o", "json", "--fail-on", "none"}
			r := w.exec(t, lab.Command(context.WithoutCancel(t.Context()), append([]string{filepath.Join(w.bin, "kubectl-certrot")}, args...)...))
			if r.code != 0 {
				t.Errorf("what the table says is not enough: ended with %d, %.3000s", r.code, r.said())
			}
			used := map[permission]map[string]bool{}
			for p, verbs := range requests(t, log, info.Size(), user) {
				row := p
				if rows[row] == nil {
					row.namespace = "" // allowed everywhere
				}
				for verb, code := range verbs {
					if !slices.Contains(rows[row], verb) {
						t.Errorf("asks for more than the table says: %s %s in %q", verb, p.resource, p.namespace)
					}
					if code >= 400 && code != 404 {
						t.Errorf("%s %s in %q was answered with %d", verb, p.resource, p.namespace, code)
					}
					if used[row] == nil {
						used[row] = map[string]bool{}
					}
					used[row][verb] = true
				}
			}
			for row, verbs := range rows {
				for _, verb := range verbs {
					// A websocket is a GET, which the API server also asks "create" for.
					if !used[row][verb] && !(row.resource == "pods/exec" && verb == "create") {
						t.Errorf("the table has more than is asked for: %s %s in %q", verb, row.resource, row.namespace)
					}
				}
			}
		})
	}
}
