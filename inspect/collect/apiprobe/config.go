package apiprobe

import (
	"errors"
	"fmt"
	"net"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// config is a kubeconfig as a kubelet would use it. Sources are what probe.sh
// takes.
type config struct {
	host, port, name, path string
	ca, cert, key, token   string
	presents               inspect.Credential
	certFile, certField    string
}

// errUnread marks what may well be fine, and can't be told.
var errUnread = errors.New("not read")

// none is the source of nothing.
const none = "-"

// parse reads the redacted text of a kubeconfig that lies at a path. An error that
// is no errUnread is one that a kubelet has too.
func parse(text []byte, at string) (config, error) {
	c := config{ca: none, cert: none, key: none, token: none}
	doc, err := pki.ParseYAML(text)
	if err != nil {
		return c, fmt.Errorf("it is no YAML: %s", foreign.Text(strings.TrimPrefix(err.Error(), "yaml: ")))
	}
	if len(doc.Content) == 0 {
		return c, errors.New("it is empty")
	}
	if err := loads(doc); err != nil {
		return c, err
	}
	d := document{text: text, dir: path.Dir(at)}
	root := doc.Content[0]
	current := value(root, "current-context")
	if current == "" {
		return c, errors.New("it has no current-context")
	}
	context, _, err := named(root, "contexts", "context", current)
	if err != nil {
		return c, err
	}
	cluster, _, err := named(root, "clusters", "cluster", value(context, "cluster"))
	if err != nil {
		return c, err
	}
	if err := d.server(&c, cluster); err != nil {
		return c, err
	}
	user, n, err := named(root, "users", "user", value(context, "user"))
	if err != nil {
		return c, err
	}
	return c, d.user(&c, user, n)
}

// loads tries what a kubelet tries first. What is masked and of another type than
// text is left out.
func loads(doc *yaml.Node) error {
	text := *doc
	text.Content = []*yaml.Node{withoutMasks(doc.Content[0])}
	raw, err := yaml.Marshal(&text)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnread, foreign.Error(err))
	}
	if _, err := clientcmd.Load(raw); err != nil {
		text, _, _ := strings.Cut(err.Error(), " in list:") // what follows is all of the list
		return fmt.Errorf("a kubelet can't load it: %s", foreign.Text(text))
	}
	return nil
}

func withoutMasks(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = nil
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode {
			if i%2 == 1 {
				continue
			}
			key, value := child, n.Content[i+1]
			secret := key.Value == "token" || key.Value == "password" || strings.HasSuffix(key.Value, "-data")
			if masked(key.Value) || masked(value.Value) && !secret {
				continue
			}
			c.Content = append(c.Content, key, withoutMasks(value))
			continue
		}
		c.Content = append(c.Content, withoutMasks(child))
	}
	return &c
}

func masked(s string) bool { return s != "" && strings.Trim(s, "x") == "" }

// document is a text and the directory that relative paths in it start from.
type document struct {
	text []byte
	dir  string
}

func (d document) server(c *config, cluster *yaml.Node) error {
	k := inspect.KubeconfigCluster{Server: value(cluster, "server"), ServerName: value(cluster, "tls-server-name")}
	address, name, err := k.Dialled()
	if err != nil {
		return fmt.Errorf("%w: %w", errUnread, err)
	}
	if value(cluster, "insecure-skip-tls-verify") == "true" {
		return fmt.Errorf("%w: it says insecure-skip-tls-verify: credentials are not sent to whoever answers", errUnread)
	}
	if value(cluster, "proxy-url") != "" {
		return fmt.Errorf("%w: it goes through a proxy", errUnread)
	}
	c.host, c.port, _ = net.SplitHostPort(address)
	c.name = name
	_, rest, _ := strings.Cut(k.Server, "://")
	_, prefix, _ := strings.Cut(rest, "/")
	c.path = strings.TrimSuffix("/"+prefix, "/")
	for _, s := range []string{c.host, c.port, c.name, c.path} {
		if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:/_-") != "" || strings.HasPrefix(s, "-") {
			return fmt.Errorf("%w: the server %s is written in an unusual way", errUnread, foreign.QuotedName(inspect.ServerURL(k.Server)))
		}
	}
	if c.ca, err = d.source(cluster, "certificate-authority-data", "certificate-authority"); err == nil && c.ca == none {
		err = fmt.Errorf("%w: it has no CA of its own, so that the node's trust store counts", errUnread)
	}
	return err
}

func (d document) user(c *config, user *yaml.Node, n int) error {
	var err error
	if c.cert, err = d.source(user, "client-certificate-data", "client-certificate"); err != nil {
		return err
	}
	if c.key, err = d.source(user, "client-key-data", "client-key"); err != nil {
		return err
	}
	switch tokens := find(user, "token"); {
	case tokens != nil && tokens.Value != "" && value(user, "tokenFile") != "": // the file's, where it can be read
		return fmt.Errorf("%w: it has token beside tokenFile", errUnread)
	case tokens != nil && tokens.Value != "":
		if c.token, err = d.inline(tokens); err != nil {
			return err
		}
	case value(user, "tokenFile") != "":
		c.token = "f:" + d.absolute(value(user, "tokenFile"))
	}
	switch {
	case c.cert != none:
		c.presents = inspect.CredentialCertificate
		if file, ok := strings.CutPrefix(c.cert, "f:"); ok {
			c.certFile = file
		} else {
			c.certField = fmt.Sprintf("users[%d].user.client-certificate-data", n)
		}
		if c.key == none {
			return errors.New("it has a client certificate and no key")
		}
	case c.token != none:
		c.presents = inspect.CredentialToken
	case find(user, "exec") != nil || find(user, "auth-provider") != nil || find(user, "username") != nil:
		c.presents = inspect.CredentialOther
		return fmt.Errorf("%w: it gets its credentials from a program or a password, which is not tried", errUnread)
	}
	return nil
}

// source is what probe.sh takes for a field that is there as data or as a file.
func (d document) source(in *yaml.Node, data, file string) (string, error) {
	if n := find(in, data); n != nil && n.Value != "" {
		if value(in, file) != "" { // client-go accepts none with both
			return none, fmt.Errorf("a kubelet does not accept %s beside %s", file, data)
		}
		at, length, err := d.span(n)
		return fmt.Sprintf("b:%d:%d", at, length), err
	}
	if name := value(in, file); name != "" {
		if masked(name) {
			return none, fmt.Errorf("%w: the path of %s did not leave the node", errUnread, file)
		}
		return "f:" + d.absolute(name), nil
	}
	return none, nil
}

func (d document) inline(n *yaml.Node) (string, error) {
	at, length, err := d.span(n)
	return fmt.Sprintf("t:%d:%d", at, length), err
}

func (d document) absolute(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(d.dir, name)
}

// span is where the value of a scalar is in the file. Only values that stand on one
// line, as they are, have one.
func (d document) span(n *yaml.Node) (at, length int, err error) {
	line := 1
	for line < n.Line && at < len(d.text) {
		if d.text[at] == '\n' {
			line++
		}
		at++
	}
	for column := 1; column < n.Column && at < len(d.text); column++ { // the columns of yaml are characters
		at++
		for at < len(d.text) && d.text[at]&0xc0 == 0x80 {
			at++
		}
	}
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		at++
	}
	if n.Kind != yaml.ScalarNode || !strings.HasPrefix(string(d.text[min(at, len(d.text)):]), n.Value) {
		return 0, 0, fmt.Errorf("%w: a value in line %d is written in an unusual way", errUnread, n.Line)
	}
	return at, len(n.Value), nil
}

// find returns the value of a key; nil where it is not there.
func find(in *yaml.Node, key string) *yaml.Node {
	if in == nil || in.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(in.Content); i += 2 {
		if in.Content[i].Value == key {
			return in.Content[i+1]
		}
	}
	return nil
}

func value(in *yaml.Node, key string) string {
	if n := find(in, key); n != nil {
		return n.Value
	}
	return ""
}

// named returns an entry of a list of a kubeconfig, and which one it is.
func named(root *yaml.Node, list, field, name string) (*yaml.Node, int, error) {
	var found *yaml.Node
	at, many := 0, 0
	if entries := find(root, list); entries != nil {
		for i, e := range entries.Content {
			if value(e, "name") == name {
				found, at = find(e, field), i
				many++
			}
		}
	}
	switch {
	case many > 1:
		return nil, 0, fmt.Errorf("%w: it has several %s %s", errUnread, list, foreign.QuotedName(name))
	case many == 0 || found == nil:
		if name == "" {
			return nil, 0, fmt.Errorf(`it has no entry "(none)" in %s`, list)
		}
		return nil, 0, fmt.Errorf("it has no entry %s in %s", foreign.QuotedName(name), list)
	}
	return found, at, nil
}
