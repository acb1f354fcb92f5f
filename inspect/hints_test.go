package inspect

import "testing"

// TestHintsNameTheProgramOnly: what is put into a format is the cluster's, and stays as it is.
func TestHintsNameTheProgramOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, got, want string }{
		{"the program", LiveHints("oc certrot").Next("{} verify; {} runs"), "oc certrot verify; oc certrot runs"},
		{"its usual name", Hints{}.Next("{} verify"), "kubectl certrot verify"},
		{"a placeholder of the cluster's", LiveHints("oc certrot").Next("{} undo %s", "{} certrot verify"), "no command is printed for the name “{} certrot verify”: a shell could read it as more than a name"},
		{"a preview of files", FileHints("x", "--from a.certrot", "--from '100% b'").Next("{} pretrust --dry-run=client, once"), "x pretrust --dry-run=client --from a.certrot --from '100% b', once"},
		{"a connection", LiveHints("x", "--context '100% b'", "--as me").Next("{} verify; {} undo %s", "a"), "x --context '100% b' --as me verify; x --context '100% b' --as me undo a"},
		{"a connection, without names", LiveHints("x", "--context '100% b'").Next("{} runs"), "x --context '100% b' runs"},
		{"a percent sign", FileHints("x").Next("at 80 %"), "at 80 %"},
		{"live", LiveHints("x").Unread(MayList("secrets", ""), MayGet("secret/a", "b")), "kubectl auth can-i list secrets -A; kubectl auth can-i get secret/a -n b"},
		{"without a namespace", Hints{}.Unread(Permission{Verb: "list", Resource: "nodes", Cluster: true}), "kubectl auth can-i list nodes"},
		{"a file", FileHints("oc certrot").Unread(MayList("secrets", "a"), MayList("secrets", "b"), MayGet("configmaps", "")), "take the snapshot again, as a user who may list secrets and get configmaps: oc certrot snapshot -o FILE"},
		{"nodes, live", LiveHints("x").UnreadNodes("{} verify --nodes %s", "a"), "x verify --nodes a"},
		{"a node with the name of a command", LiveHints("x").UnreadNodes("{} verify --nodes %s", "a;reboot"), "no command is printed for the name “a;reboot”: a shell could read it as more than a name; what has such a name: kubectl get nodes -o name"},
		{"a Secret with the name of a command", LiveHints("x").Unread(MayGet("secret/a\n$(id)", "b")), `no command is printed for the name “secret/a\n$(id)”: a shell could read it as more than a name`},
		{"nodes, of a file", FileHints("x").UnreadNodes("{} verify --nodes all"), "take the snapshot again, with the nodes: x snapshot --nodes all -o FILE"},
		{"of a file alone", FileHints("x").Live(" --via ssh"), ""},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.name, c.got, c.want)
		}
	}
}
