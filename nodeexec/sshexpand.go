package nodeexec

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func (r router) timeout(names []string, h *hop) error {
	if h.timeout > 0 {
		return nil
	}
	h.timeout = defaultConnect
	args := r.config.first(names, "connecttimeout")
	if args == nil || args[0] == "none" {
		return nil
	}
	text := args[0]
	if isNumber(text) {
		text += "s"
	}
	d, err := time.ParseDuration(strings.ToLower(text))
	if err != nil || d <= 0 {
		return fmt.Errorf("ConnectTimeout %s is no number of seconds", args[0])
	}
	h.timeout = d
	return nil
}

// files finds the key files and known_hosts files for a hop.
func (r router) files(names []string, h *hop) error {
	for _, f := range append(append([]string{}, r.s.Keys.Files...), r.config.all(names, "identityfile")...) {
		if f == "none" {
			continue
		}
		f, err := r.expand("IdentityFile", f, *h)
		if err != nil {
			return err
		}
		h.keys.files = append(h.keys.files, f)
	}
	if len(h.keys.files) == 0 && r.s.Home != "" {
		h.keys.usual = true
		for _, f := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
			h.keys.files = append(h.keys.files, filepath.Join(r.s.Home, ".ssh", f))
		}
	}
	only := r.config.first(names, "identitiesonly")
	h.keys.only = only != nil && only[0] == "yes"

	if strict := r.config.first(names, "stricthostkeychecking"); strict != nil && strict[0] != "yes" && strict[0] != "ask" {
		r.s.notice("%s: StrictHostKeyChecking %s is ignored: host keys are always checked", h.name, strict[0])
	}
	if len(r.s.HostKeys.Files) > 0 {
		h.known = r.s.HostKeys.Files
		return nil
	}
	files := r.config.first(names, "userknownhostsfile")
	if files == nil && r.s.Home != "" {
		files = []string{"~/.ssh/known_hosts", "~/.ssh/known_hosts2"}
	}
	for _, f := range files {
		if f == "none" {
			continue
		}
		f, err := r.expand("UserKnownHostsFile", f, *h)
		if err != nil {
			return err
		}
		h.known = append(h.known, f)
	}
	if h.global = r.config.first(names, "globalknownhostsfile"); h.global == nil {
		h.global = []string{globalKnownHosts}
	}
	return nil
}

// expand replaces ~/ and the tokens of ssh_config(5) that are known here.
func (r router) expand(keyword, value string, h hop) (string, error) {
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		if r.s.Home == "" {
			return "", fmt.Errorf("%s %s: the home directory is unknown", keyword, value)
		}
		value = filepath.Join(r.s.Home, rest)
	}
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] != '%' {
			b.WriteByte(value[i])
			continue
		}
		i++
		token := byte(0)
		if i < len(value) {
			token = value[i]
		}
		switch token {
		case '%':
			b.WriteByte('%')
		case 'd':
			b.WriteString(r.s.Home)
		case 'h':
			if h.claimed { // ssh itself would know no other host than the node's name
				b.WriteString(h.name)
			} else {
				b.WriteString(h.hosts[0])
			}
		case 'n':
			b.WriteString(h.name)
		case 'p':
			b.WriteString(strconv.Itoa(h.port))
		case 'r':
			b.WriteString(h.user)
		case 'u':
			b.WriteString(r.me)
		default:
			return "", fmt.Errorf("%s %s: of the tokens, only %%%%, %%d, %%h, %%n, %%p, %%r and %%u are known", keyword, value)
		}
	}
	return b.String(), nil
}
