package nodeexec_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec/nodetest"
)

// program is a shell script that leads to this machine. Its first argument is the
// name of the node, the others are what is to run there.
func program(t *testing.T, script string) nodeexec.Command {
	t.Helper()
	file := filepath.Join(t.TempDir(), "onto")
	write(t, file, "#!/bin/sh\n"+script+"\n")
	if err := os.Chmod(file, 0o700); err != nil {
		t.Fatal(err)
	}
	return nodeexec.Command{Words: []string{file, "{node}"}, Sudo: nodeexec.SudoNever}
}

// sshProgram leads to a server by the ssh program.
func (h home) sshProgram(t *testing.T, d *sshd, options ...string) nodeexec.Command {
	t.Helper()
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		t.Skip("ssh is not installed (apt-get install openssh-client)")
	}
	words := []string{ssh, "-F", "none", "-i", h.file("id_ed25519"), "-o", "BatchMode=yes", "-o", "UserKnownHostsFile=" + h.file("known_hosts"),
		"-o", "HostName=127.0.0.1", "-p", strconv.Itoa(d.port)}
	return nodeexec.Command{Words: append(append(words, options...), d.user+"@{node}", "--"), Sudo: nodeexec.SudoNever}
}

func TestCommandOfALocalProcess(t *testing.T) {
	noLeaks(t)
	by := nodeexec.Command{Words: []string{"env", "NODE={node}"}, Sudo: nodeexec.SudoNever}
	nodetest.TestNode(t, func(t *testing.T) nodeexec.Node { return open(t, by, "node-1") }, nodetest.Options{NoHalfClose: true, AtOnce: 4})
	nothingLeft(t, "certrot-exec")
}

func TestCommandOfSSH(t *testing.T) {
	h := newHome(t)
	d := startSSHD(t, "MaxStartups 100", nil, h.key)
	h.trust(t, d)
	noLeaks(t)
	nodetest.TestNode(t, func(t *testing.T) nodeexec.Node { return open(t, h.sshProgram(t, d), "node-1") }, nodetest.Options{NoHalfClose: true, AtOnce: 4})
	nothingLeft(t, "certrot-exec")
}

func TestCommandThroughSudo(t *testing.T) {
	needsSudo(t)
	noLeaks(t)
	by := program(t, `shift; exec "$@"`)
	by.Sudo = nodeexec.SudoAlways
	nodetest.TestNode(t, func(t *testing.T) nodeexec.Node { return open(t, by, "node-1") }, nodetest.Options{NoHalfClose: true, AtOnce: 4})
	nothingLeft(t, "certrot-exec")
}

// The shell behind the command may be any, and its group may be that of others.
func TestCommandOfEachShell(t *testing.T) {
	for _, shell := range [][]string{{"dash"}, {"bash"}, {"busybox", "sh"}} {
		t.Run(shell[0], func(t *testing.T) {
			file, err := exec.LookPath(shell[0])
			if err != nil {
				t.Skipf("%s is not installed", shell[0])
			}
			by := program(t, fmt.Sprintf("echo 'Welcome to' $1\nprintf 'no line end: '\n%s; exit $?", nodeexec.Quote(append([]string{file}, shell[1:]...)...)))
			n := open(t, by, "node-1")
			out, err := n.Run(t.Context(), strings.NewReader("through stdin"), "sh", "-c", `cat; printf ' %s' "$@"`, "sh", "a b", "'$(id)'\n")
			if want := "through stdin a b '$(id)'\n"; err != nil || string(out) != want {
				t.Errorf("%q, %v, want %q", out, err, want)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err = n.Run(ctx, nil, "sh", "-c", "sleep 8642.5 & sleep 8642.5"); !errors.Is(err, nodeexec.ErrUnknownOutcome) || strings.Contains(err.Error(), "still run") {
				t.Errorf("stopped: %v", err)
			}
			nothingLeft(t, "sleep\x008642.5")
		})
	}
}

func TestCommandsThatLeadNowhere(t *testing.T) {
	for _, c := range []struct {
		name, script string
		says         []string
	}{
		{"one that exits early", `echo "ssh: connect to host $1 port 22: connection refused" >&2; exit 255`, []string{"of --node-command: no shell came up", "exit status 255", "run it with node-1 in place of {node}: echo hostname | COMMAND sh: Connection refused"}},
		{"one that says on stdout why", `echo "This account is not available"; exit 1`, []string{"exit status 1", "sh: This account is not available"}},
		{"one that ends well", `exit 0`, []string{"no shell came up", "exit status 0"}},
		{"one that hangs", `sleep 9753.5`, []string{"no shell came up within 500ms", "log in before"}},
		{"one that prints a banner and hangs", `echo welcome; sleep 9753.5`, []string{"no shell came up within 500ms"}},
		{"one that prints without an end", `yes`, []string{"prints more than 65536 bytes before it runs a command"}},
		{"one that repeats what it is given", `cat`, []string{"no shell came up within 500ms"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			noLeaks(t)
			by := program(t, c.script)
			if by.Limits.Connect = 500 * time.Millisecond; c.script == "yes" { // what it prints ends it
				by.Limits.Connect = time.Minute
			}
			n, err := by.Dial(t.Context(), "node-1")
			if err == nil {
				_ = n.Close()
				t.Fatal("it leads onto a node")
			}
			for _, part := range c.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v\nlacks %q", err, part)
				}
			}
			if strings.Contains(err.Error(), "onto node-1") { // a password may be among them
				t.Errorf("it has the command's arguments: %v", err)
			}
			nothingLeft(t, "sleep\x009753.5")
		})
	}
}

// Once a shell is there, what it says is of use; the words of the command are left out.
func TestWhatACommandSaysHasNoneOfItsWords(t *testing.T) {
	words := []string{"{node}", "--token=geheim123", "root:geh@eim456@{node}", "-pgeheim789", "geheim", "a geheim B", "x=debug", "-v",
		"sshpass -pgeheim012 ssh", "?token=geheim345&x=1", "Bearer geheim678,u=1", "%r:gehe%%geheim901%h"}
	const script = `node=$1; shift
sh; code=$?
while [ "$1" != sh ]; do echo "bad: $1 ${1##*=} ${1#-p} ${1##*:} geh@eim456" TO; shift; done
echo "at $node: refused 'geheim012' 'geheim345' 'geheim678' 'geheim901' 'geh@eim456' ageheim123b geheim. debugging" TO
printf gehe TO; sleep 0.1; printf 'im123\n' TO
exit $code`
	by := program(t, strings.ReplaceAll(script, "TO", ">&2"))
	by.Words = append(by.Words[:1], words...)
	_, err := open(t, by, "node-1").Run(t.Context(), nil, "sh", "-c", "echo the disk is full >&2; exit 5")
	if err == nil {
		t.Fatal("exit status 5 is no error")
	}
	said := err.Error()
	for _, part := range []string{"geheim", "eim456", "debug ", "root", "Bearer"} {
		if strings.Contains(said, part) {
			t.Errorf("%v\nhas %q", said, part)
		}
	}
	for _, part := range []string{"at node-1: refused '…' '…' '…' '…' '…' a…b …. debugging", "the disk is full"} {
		if !strings.Contains(said, part) {
			t.Errorf("%v\nlacks %q", said, part)
		}
	}
}

// The node's name is in the rest of the message anyway: it counts for more than a word that equals it
// or one of its labels.
func TestTheNodesOwnNameIsNotLeftOut(t *testing.T) {
	const node = "worker-1.prod.example.com"
	for said, want := range map[string]string{
		"ssh to core@" + node + " port 22":                 "ssh to …" + node + " port 22",
		"at worker-1: " + node + "; proxy.example.com":     "at worker-1: " + node + "; …",
		"geheim-worker-1-77x; prod of " + node:             "…x; … of " + node,
		"worker-10 and geheim-worker-1-77, worker-1.x":     "worker-10 and …, worker-1.x",
		"x" + node + " is not it, nor is " + node + "-geh": "xworker-1.….….com is not it, nor is worker-1.….….com-geh",
		"geheim-" + node: "…",
	} {
		by := program(t, `shift; sh; code=$?; echo '`+said+`' >&2; exit $code`)
		by.Words = append(by.Words, "core@{node}", "--proxy=proxy.example.com", "--password=prod", "-pworker-1", "geheim-worker-1-77", "geheim-{node}")
		_, err := open(t, by, node).Run(t.Context(), nil, "false")
		if err == nil || !strings.HasSuffix(strings.Trim(strings.ReplaceAll(err.Error(), "“", ""), "”"), " status 1: "+want) {
			t.Errorf("%s:\n%v\nwant %s", said, err, want)
		}
	}
}

// What a login says is not passed on once a shell is there either, in whatever form it has the words,
// and however much it is.
func TestWhatALoginSaidIsNotInALaterError(t *testing.T) {
	for name, says := range map[string]string{
		"encoded":          `echo 'Proxy-Authorization: Basic bWU6Z2VoZWltNzc=' >&2`,
		"many lines of it": `i=0; while [ $i -lt 3000 ]; do echo 'debug1: Basic bWU6Z2VoZWltNzc='; i=$((i + 1)); done >&2`,
		"without an end":   `printf 'Basic bWU6Z2VoZWltNzc=' >&2`,
	} {
		by := program(t, "shift 2; "+says+`; "$@"`)
		by.Words = append(by.Words, "--proxy-auth=me:geheim77")
		_, err := open(t, by, "node-1").Run(t.Context(), nil, "sh", "-c", "echo the disk is full >&2; exit 5")
		if err == nil || strings.Contains(err.Error(), "bWU6") || !strings.Contains(err.Error(), "the disk is full") {
			t.Errorf("%s: %.300v", name, err)
		}
	}
}

func TestAWordInALongLineOfACommandIsLeftOut(t *testing.T) {
	by := program(t, `sh; printf '%70000s' gehe >&2; sleep 0.2; printf 'im123 %65600s' gehe >&2; sleep 0.2; printf 'im123 the end' >&2; exit 1`)
	by.Words = append(by.Words, "--token=geheim123")
	_, err := open(t, by, "node-1").Run(t.Context(), nil, "false")
	if err == nil || strings.Contains(err.Error(), "gehe") || !strings.Contains(err.Error(), "… the end") || strings.Contains(err.Error(), "im123") {
		t.Errorf("%.300v", err)
	}
}

func TestACommandIsStoppedWhileItConnects(t *testing.T) {
	noLeaks(t)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, errors.New("Ctrl-C"))
	defer cancel()
	if _, err := program(t, `sleep 9754.5 & sleep 9754.5`).Dial(ctx, "node-1"); err == nil || !strings.Contains(err.Error(), "Ctrl-C") {
		t.Errorf("%v", err)
	}
	nothingLeft(t, "sleep\x009754.5")
}

func TestCommandWhoseConnectionBreaks(t *testing.T) {
	for _, c := range []struct{ name, script, signal string }{
		{"with a signal", `shift; export ONTO=$$; "$@"; exit 0`, "KILL"},
		{"as if all was well", `shift; export ONTO=$$; trap 'exit 0' TERM; exec 3<&0; "$@" <&3 & wait`, "TERM"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := open(t, program(t, c.script), "node-1")
			_, err := n.Run(t.Context(), nil, "sh", "-c", "echo half; kill -"+c.signal+" $ONTO; sleep 2")
			if !errors.Is(err, nodeexec.ErrUnknownOutcome) || !strings.Contains(err.Error(), "the end of what ran on the node was not seen") {
				t.Errorf("%v", err)
			}
		})
	}
}

// Who logs in is what the node says. Here, sudo refuses.
func TestCommandBecomesRoot(t *testing.T) {
	for _, c := range []struct {
		id   string
		sudo nodeexec.Sudo
		user string // the user that sudo refuses; "": it is not asked
	}{
		{"1000 core", nodeexec.SudoUnlessRoot, "core"},
		{"0 root", nodeexec.SudoUnlessRoot, ""},
		{"0 root", nodeexec.SudoAlways, "root"},
		{"1000 core", nodeexec.SudoNever, ""},
	} {
		path := filepath.Dir(linkTo(t, "/bin/false", "sudo"))
		id := strings.Fields(c.id)
		write(t, filepath.Join(path, "id"), "#!/bin/sh\n[ \"$1\" = -u ] && echo "+id[0]+" || echo "+id[1]+"\n")
		if err := os.Chmod(filepath.Join(path, "id"), 0o700); err != nil {
			t.Fatal(err)
		}
		by := program(t, `shift; PATH=`+path+`:$PATH exec "$@"`)
		by.Sudo = c.sudo
		n, err := by.Dial(t.Context(), "node-1")
		if n != nil {
			_ = n.Close()
		}
		var sudo *nodeexec.SudoError
		switch {
		case c.user == "" && err != nil:
			t.Errorf("%s: %v", c.id, err)
		case c.user != "" && (!errors.As(err, &sudo) || sudo.Node != "node-1" || sudo.User != c.user || !strings.Contains(err.Error(), "exit status 1")):
			t.Errorf("%s: %v", c.id, err)
		}
	}
	by := program(t, `shift; "$@" | sed -u 's/^[0-9]*$/who/'`)
	by.Sudo = nodeexec.SudoUnlessRoot
	if _, err := by.Dial(t.Context(), "node-1"); err == nil || !strings.Contains(err.Error(), "who logs in is unknown") {
		t.Errorf("%v", err)
	}
}

func TestCommandWithATerminal(t *testing.T) {
	h := newHome(t)
	d := startSSHD(t, "", nil, h.key)
	h.trust(t, d)
	_, err := h.sshProgram(t, d, "-tt").Dial(t.Context(), "node-1")
	if err == nil || !strings.Contains(err.Error(), "has a terminal") {
		t.Errorf("%v", err)
	}
}

// A process of a container that has the node's /proc, and a PID namespace of its own.
func TestCommandWithTheProcessesOfAnother(t *testing.T) {
	if out, err := exec.Command("unshare", "-p", "-f", "true").CombinedOutput(); err != nil {
		t.Skipf("a PID namespace is not possible here: %v %s", err, out)
	}
	_, err := program(t, `shift; exec unshare -p -f "$@"`).Dial(t.Context(), "node-1")
	if err == nil || !strings.Contains(err.Error(), "nsenter -t 1 -a") {
		t.Errorf("%v", err)
	}
}

// A name comes from the cluster, and is a word of a command here.
func TestNamesThatNoCommandIsGiven(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "ran")
	by := program(t, "touch "+mark)
	for _, name := range []string{"", "-oProxyCommand=id", "a b", "a;id", "$(id)", "../a", "a/b", "a\n", "A", "root@a", "a-", ".a", "{node}", strings.Repeat("a", 254)} {
		if _, err := by.Dial(t.Context(), name); err == nil || !strings.Contains(err.Error(), "is no name that a command is given") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the command ran")
	}
}

func TestParseCommand(t *testing.T) {
	for line, want := range map[string][]string{
		"tsh ssh root@{node} --":                         {"tsh", "ssh", "root@{node}", "--"},
		"  ssh   {node} ":                                {"ssh", "{node}"},
		`ssh -o 'ProxyCommand=a $b' "{node}" ''`:         {"ssh", "-o", "ProxyCommand=a $b", "{node}", ""},
		`x "a 'b'"'c "d"'e={node},~`:                     {"x", `a 'b'c "d"e={node},~`},
		"gcloud compute ssh {node} --zone=us-central1-a": {"gcloud", "compute", "ssh", "{node}", "--zone=us-central1-a"},
	} {
		if got, err := nodeexec.ParseCommand(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", line, got, err)
		}
	}
	for line, says := range map[string]string{
		"":                       "no program is named",
		"  ":                     "no program is named",
		"'' {node}":              "no program is named",
		"ssh node":               "no word has {node}",
		"ssh {Node}":             "no word has {node}",
		"{node} ssh":             "the first word is the program",
		"-x {node}":              "the first word is the program",
		"ssh '{node}":            "a quote ' is not closed",
		`ssh "{node}`:            `a quote " is not closed`,
		"ssh {node}\n":           "can't be in a command",
		"ssh\t{node}":            "can't be in a command",
		"ssh '\x00{node}'":       "can't be in a command",
		"ssh \xff{node}":         "can't be in a command",
		"ssh $USER@{node}":       `the sign '$' has no meaning here`,
		`ssh "$USER@{node}"`:     `the sign '$' has no meaning here`,
		"ssh {node}; id":         `the sign ';' has no meaning here`,
		"ssh {node} | tee x":     `the sign '|' has no meaning here`,
		"ssh `id` {node}":        "has no meaning here",
		`ssh \{node}`:            "has no meaning here",
		"ssh -i ~/.ssh/x {node}": `the sign '~' has no meaning here`,
		"ssh {node} >x":          `the sign '>' has no meaning here`,
		"ssh {node} & id":        `the sign '&' has no meaning here`,
	} {
		if got, err := nodeexec.ParseCommand(line); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %q, %v, want %q", line, got, err, says)
		}
	}
}
