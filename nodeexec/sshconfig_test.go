package nodeexec_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// The same file and host, asked of OpenSSH.
func TestConfigIsReadAsOpenSSHReadsIt(t *testing.T) {
	if _, err := exec.LookPath("ssh"); err != nil {
		t.Skip("ssh is not installed (apt-get install openssh-client)")
	}
	for name, text := range map[string]string{
		"first value wins":      "Host a\n User one\nHost *\n User two\n Port 2200\n",
		"before any Host":       "User top\nHost a\n User inner\n",
		"patterns":              "Host w?b1 *.example.com\n User pat\nHost !b *\n Port 99\n",
		"negation":              "Host * !a !*.lan\n User neg\n",
		"? is one character":    "Host web?\n User x\nHost web??\n User y\n",
		"tabs and equals signs": "Host\ta\tb\n\tUser=eq\n\tPort = 2201\n  HostName\t=\th.example\n",
		"quotes":                "Host \"a\" \"b c\"\n User \"quo ted\"\n IdentityFile \"/tmp/my key\"\n",
		"comments":              "# x\nHost a # trailing\n User c#d # e\n   # indented\n Port 23\n",
		"case of keywords":      "HOST a\n uSeR Case\n PORT 77\n",
		"CRLF":                  "Host a\r\n  User crlf\r\n  Port 24\r\n",
		"several keys":          "Host a\n IdentityFile /k/1\n IdentityFile /k/2\nHost *\n IdentityFile /k/3\n IdentitiesOnly yes\n",
		"known hosts":           "Host a\n UserKnownHostsFile /k/h1 /k/h2\nHost *\n UserKnownHostsFile /k/h3\n",
		"timeout":               "Host a\n ConnectTimeout 7\nHost *\n ConnectTimeout 8\n",
		"unknown to certrot":    "Host a\n ForwardAgent yes\n SendEnv LANG LC_*\n LocalForward 8080 localhost:80\n User ok\n",
		"HostName with %h":      "Host a b\n HostName %h.example.com\n",
		"jump none":             "Host a\n ProxyJump none\nHost * !bastion\n ProxyJump bastion\n",
		"match all":             "Host b\n User b\nMatch all\n User all\n",
		"backslashes":           "Host a\n IdentityFile \"/tmp/a\\\"b\"\n User a\\\\b\n",
		"include":               "Include DIR/inc-*\nHost *\n User last\n",
		"include in a block":    "Host b\n Include DIR/inc-1\n Port 9\nHost *\n User last\n",
		"include of nothing":    "Include DIR/none DIR/none-*\nUser x\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "inc-1"), "User inc1\nHost a\n Port 1001\n")
			write(t, filepath.Join(dir, "inc-2"), "Host a\n IdentityFile /k/inc2\n")
			file := filepath.Join(dir, "config")
			write(t, file, strings.ReplaceAll(text, "DIR", dir))
			for _, host := range []string{"a", "b", "web1", "web12", "x.example.com", "y.lan"} {
				want := openSSH(t, file, host)
				got, err := nodeexec.Settings(&nodeexec.SSH{Config: file, Home: dir}, host)
				if err != nil {
					t.Fatal(err)
				}
				for key := range got {
					if _, ok := want[key]; !ok {
						delete(got, key)
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-OpenSSH +certrot):\n%s", host, diff)
				}
			}
		})
	}
}

// openSSH is what `ssh -G` says, without what is a default.
func openSSH(t *testing.T, file, host string) map[string]string {
	t.Helper()
	out, err := exec.Command("ssh", "-F", file, "-G", host).Output()
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{"jumps": "0"}
	var keys []string
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch key {
		case "hostname", "port":
			said[key] = value
		case "user":
			if value != whoami(t) {
				said[key] = value
			}
		case "identitiesonly":
			said[key] = map[string]string{"yes": "true", "no": "false"}[value]
		case "identityfile":
			if !strings.HasPrefix(value, "~/.ssh/id_") {
				keys = append(keys, value)
			}
		case "userknownhostsfile":
			if !strings.HasPrefix(value, "~/") && !strings.Contains(value, "/.ssh/known_hosts") {
				said[key] = value
			}
		case "connecttimeout":
			if value != "none" {
				said[key] = value
			}
		case "proxyjump":
			if value != "none" {
				said["jumps"] = "1"
			}
		}
	}
	if keys != nil {
		said["identityfile"] = strings.Join(keys, " ")
	}
	return said
}

func whoami(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("id", "-un").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestMatchIsIgnoredAndThatIsSaid(t *testing.T) {
	h := newHome(t)
	write(t, h.file("config"), "Match host a exec \"touch "+h.file("ran")+"\"\n User matched\n ProxyCommand evil\nHost a\n User plain\n StrictHostKeyChecking no\n")
	var said []string
	got, err := nodeexec.Settings(&nodeexec.SSH{Home: h.dir, Notice: func(s string) { said = append(said, s) }}, "a")
	if err != nil || got["user"] != "plain" {
		t.Errorf("%v, %v", got, err)
	}
	all := strings.Join(said, "\n")
	if !strings.Contains(all, h.file("config")+":1: Match is ignored") || !strings.Contains(all, "StrictHostKeyChecking no is ignored") {
		t.Errorf("said: %s", all)
	}
	if _, err := os.Stat(h.file("ran")); err == nil {
		t.Error("Match exec was run")
	}
}

func TestWhoLogsInWhere(t *testing.T) {
	h := newHome(t)
	me := whoami(t)
	write(t, h.file("config"), `Host w1
  HostName w1.lan
  User cfg
  Port 2201
Host 192.0.2.*
  ProxyJump jumper@bastion:2222
Host far
  ProxyJump j1,ssh://x@[2001:db8::1]:99/,j3
Host j1
  ProxyJump j0
  HostName j1.lan
Host j3
  ProxyJump nobody
`)
	addresses := func(hosts ...string) func(*nodeexec.SSH) {
		return func(s *nodeexec.SSH) { s.Addresses = answer(hosts) }
	}
	for name, c := range map[string]struct {
		node string
		set  func(*nodeexec.SSH)
		want string
	}{
		"nothing known": {"plain", nil, "plain core@plain:22"},
		"configured":    {"w1", addresses("198.51.100.1"), "w1 cfg@w1.lan:2201"},
		"inventory before all": {"w1", func(s *nodeexec.SSH) {
			s.Inventory = nodeexec.Inventory{"w1": {Host: "10.0.0.1", User: "inv", Port: 7}}
		}, "w1 inv@10.0.0.1:7"},
		"inventory without user":                {"w1", func(s *nodeexec.SSH) { s.Inventory = nodeexec.Inventory{"w1": {Host: "10.0.0.1"}} }, "w1 cfg@10.0.0.1:2201"},
		"user given":                            {"w1", func(s *nodeexec.SSH) { s.User = "flag" }, "w1 flag@w1.lan:2201"},
		"addresses of the node":                 {"w9", addresses("198.51.100.1", "2001:db8::9"), "w9 core@198.51.100.1,2001:db8::9:22"},
		"configured by its kubelet's address":   {"w9", addresses("192.0.2.9"), "w9 core@192.0.2.9:22"},
		"configured by the inventory's address": {"w9", func(s *nodeexec.SSH) { s.Inventory = nodeexec.Inventory{"w9": {Host: "192.0.2.9"}} }, "bastion jumper@bastion:2222\nw9 core@192.0.2.9:22"},
		"no address: the name":                  {"w9", addresses(), "w9 core@w9:22"},
		"a chain, the first by its own jump":    {"far", nil, "j0 " + me + "@j0:22\nj1 " + me + "@j1.lan:22\n2001:db8::1 x@2001:db8::1:99\nj3 " + me + "@j3:22\nfar core@far:22"},
	} {
		s := &nodeexec.SSH{Home: h.dir}
		if c.set != nil {
			c.set(s)
		}
		if got, err := nodeexec.Route(s, c.node); got != c.want || err != nil {
			t.Errorf("%s:\n%s, %v; want\n%s", name, got, err, c.want)
		}
	}
}

func TestWhatCannotBeFollowedIsSaid(t *testing.T) {
	for text, want := range map[string]string{
		"\nProxyCommand nc %h %p\n":                  "config:2: ProxyCommand is not supported, because it would run a program of its own choice here; use ProxyJump",
		"Host a\nProxyJump b\nHost b\nProxyJump a\n": "do two hosts name each other",
		"ProxyJump x:0\n":                            `"0" is no port`,
		"Port ssh\n":                                 "Port ssh is no port",
		"HostName -oProxyCommand=x\n":                "neither an IP address nor the name of a host",
		"ConnectTimeout soon\n":                      "ConnectTimeout soon is no number of seconds",
		"IdentityFile /k/%C\n":                       "of the tokens, only",
		"User \"open\n":                              "config:1: a quote is opened and not closed",
		"\nHost\n":                                   "config:2: host has no value",
		"Include config\n":                           "include each other; is there a loop?",
	} {
		h := newHome(t)
		write(t, h.file("config"), text)
		_, err := nodeexec.Route(&nodeexec.SSH{Home: h.dir}, "a")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
	if _, err := nodeexec.Route(&nodeexec.SSH{Config: filepath.Join(t.TempDir(), "none")}, "a"); err == nil {
		t.Error("a configuration that was asked for may be missing")
	}
	for _, node := range []string{"", "-oX", "a b", "a;b", "a\nb"} {
		if _, err := nodeexec.Route(&nodeexec.SSH{Config: "none"}, node); err == nil {
			t.Errorf("node %q is looked for", node)
		}
	}
	_, err := nodeexec.Route(&nodeexec.SSH{Config: "none", Addresses: failingAddresses}, "a")
	if err == nil || !strings.Contains(err.Error(), "the API is down; it can be given in an inventory file") {
		t.Error(err)
	}
}

// A command in a configuration may have a password, and errors reach reports and files.
func TestACommandInAConfigurationIsNotQuoted(t *testing.T) {
	for _, text := range []string{
		"ProxyCommand ncat --proxy-auth me:geheim77 proxy 8080\n",
		"Host a\n ProxyCommand=sshpass -p geheim77 ssh -W %h:%p bastion\n",
		"Match exec \"sshpass -p geheim77 ssh bastion true\"\n User b\n",
		"geheim77\n",
		"geheim\n",
		"ProxyCommand \"geheim77\n",
		"LocalCommand geheim77\nSetEnv PW=geheim77\nRemoteCommand geheim77\n",
	} {
		h := newHome(t)
		write(t, h.file("config"), text)
		var said []string
		_, err := nodeexec.Route(&nodeexec.SSH{Home: h.dir, Notice: func(s string) { said = append(said, s) }}, "a")
		if all := fmt.Sprint(err, said); strings.Contains(all, "geheim") {
			t.Errorf("%q: %s", text, all)
		}
	}
}

func FuzzConfigWords(f *testing.F) {
	for _, s := range []string{"", "Host", "Host a b", "User=x", "User = \"a b\" # c", "x \"", "\\", "a '", "Key a\\ b", "=0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		key, args, err := nodeexec.ConfigWords(line)
		if err == nil && key == "" && args != nil {
			t.Errorf("%q: arguments %q of nothing", line, args)
		}
		if strings.ContainsAny(key, " \t=") {
			t.Errorf("%q: keyword %q", line, key)
		}
	})
}

func answer(hosts []string) func(context.Context, string) ([]string, error) {
	return func(context.Context, string) ([]string, error) { return hosts, nil }
}

func failingAddresses(context.Context, string) ([]string, error) {
	return nil, errors.New("the API is down")
}
