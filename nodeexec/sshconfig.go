package nodeexec

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// userConfig is an ssh_config file, as far as it is read: Host blocks, Include,
// and any keyword with its arguments, of which sshHop takes a dozen.
//
// The rules are those of ssh_config(5), and OpenSSH itself is asked in the tests
// whether they are. Match blocks are left out, since most of their criteria run
// commands or depend on what is unknown here; notice says so.
type userConfig struct {
	items []configItem
}

// configItem is one of a setting, a Host block and what an Include brought.
type configItem struct {
	key  string
	args []string

	at    string       // file and line
	hosts []string     // patterns; nil: for all hosts
	items []configItem // of the block or the files
}

const configDepth = 16 // of Include, as OpenSSH has it

// readConfig reads a file with all it includes. home is where ~ leads.
func readConfig(path, home string, notice func(string)) (userConfig, error) {
	r := configReader{home: home, notice: notice}
	items, err := r.file(path, 0)
	return userConfig{items}, err
}

// first is the arguments of the first setting of a keyword that holds for a host. A host can
// have several names.
func (c userConfig) first(names []string, key string) []string { return c.setting(names, key).args }

func (c userConfig) setting(names []string, keys ...string) (found configItem) {
	walk(c.items, names, func(it configItem) bool {
		if slices.Contains(keys, it.key) {
			found = it
			return false
		}
		return true
	})
	return found
}

// all is the first argument of every setting of a keyword that holds for a host.
func (c userConfig) all(names []string, key string) []string {
	var found []string
	walk(c.items, names, func(it configItem) bool {
		if it.key == key {
			found = append(found, it.args[0])
		}
		return true
	})
	return found
}

// speaksOf reports whether a Host block is about this very host, not about all.
func (c userConfig) speaksOf(names []string) bool {
	var any func([]configItem) bool
	any = func(items []configItem) bool {
		for _, it := range items {
			narrow := it.hosts != nil && !slices.Contains(it.hosts, "*")
			if narrow && matchesHost(it.hosts, names) || it.hosts == nil && any(it.items) {
				return true
			}
		}
		return false
	}
	return any(c.items)
}

// onlyFor returns the Host blocks that hold for an address and not for a name.
func (c userConfig) onlyFor(address, name string) []configItem {
	var found []configItem
	var look func([]configItem)
	look = func(items []configItem) {
		for _, it := range items {
			if it.hosts != nil && matchesHost(it.hosts, []string{address}) && !matchesHost(it.hosts, []string{name}) {
				found = append(found, it)
			} else if it.hosts == nil {
				look(it.items)
			}
		}
	}
	look(c.items)
	return found
}

// walk visits the settings that hold for a host, until visit says enough.
func walk(items []configItem, names []string, visit func(configItem) bool) bool {
	for _, it := range items {
		switch {
		case it.key != "":
			if !visit(it) {
				return false
			}
		case it.hosts == nil || matchesHost(it.hosts, names):
			if !walk(it.items, names, visit) {
				return false
			}
		}
	}
	return true
}

func matchesHost(patterns, names []string) bool {
	found := false
	for _, p := range patterns {
		p, not := strings.CutPrefix(p, "!")
		if slices.ContainsFunc(names, func(n string) bool { return matchesPattern(p, n) }) {
			if not {
				return false
			}
			found = true
		}
	}
	return found
}

// matchesPattern knows * (any number of characters) and ? (one).
func matchesPattern(p, s string) bool {
	star, back := -1, 0 // the last * and where to go on when it takes one more
	i, j := 0, 0
	for j < len(s) {
		switch {
		case i < len(p) && p[i] == '*':
			star, back = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == s[j]):
			i++
			j++
		case star >= 0:
			back++
			i, j = star+1, back
		default:
			return false
		}
	}
	return strings.Trim(p[i:], "*") == ""
}

type configReader struct {
	home   string
	notice func(string)
}

func (r configReader) file(path string, depth int) ([]configItem, error) {
	if depth > configDepth {
		return nil, fmt.Errorf("%s: more than %d files include each other; is there a loop?", path, configDepth)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read ssh configuration: %w", err)
	}
	top := []configItem{{items: []configItem{}}} // what stands before the first Host
	ignored := false                             // inside of a Match block
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		at := fmt.Sprintf("%s:%d", path, number)
		key, args, err := configWords(strings.TrimRight(line, "\r\n"))
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", at, err)
		case key == "":
			continue
		case len(args) == 0:
			if !slices.Contains(knownKeywords(), key) {
				key = "what is no known keyword" // and may be a password
			}
			return nil, fmt.Errorf("%s: %s has no value", at, key)
		}
		block := &top[len(top)-1]
		switch {
		case key == "host":
			ignored = false
			top = append(top, configItem{at: at, hosts: args})
		case key == "match" && len(args) == 1 && strings.EqualFold(args[0], "all"):
			ignored = false
			top = append(top, configItem{at: at, hosts: []string{"*"}})
		case key == "match":
			ignored = true
			r.notice(at + ": Match is ignored, with all up to the next Host: only Match all is understood") // a command in it may have a password
		case ignored:
		case key == "include":
			included, err := r.include(args, depth)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", at, err)
			}
			block.items = append(block.items, configItem{items: included})
		default:
			block.items = append(block.items, configItem{key: key, args: args, at: at})
		}
	}
	return top, nil
}

// knownKeywords are those that are read here.
func knownKeywords() []string {
	return []string{"host", "match", "include", "hostname", "user", "port", "proxyjump", "proxycommand", "connecttimeout", "identityfile",
		"identitiesonly", "stricthostkeychecking", "userknownhostsfile", "globalknownhostsfile", "hostkeyalias"}
}

// include reads files by patterns; relative ones are in ~/.ssh. What can't be
// opened is left out, as OpenSSH does.
func (r configReader) include(patterns []string, depth int) ([]configItem, error) {
	var items []configItem
	for _, p := range patterns {
		if rest, ok := strings.CutPrefix(p, "~/"); ok {
			p = filepath.Join(r.home, rest)
		}
		if !filepath.IsAbs(p) {
			p = filepath.Join(r.home, ".ssh", p)
		}
		paths, err := filepath.Glob(p)
		if err != nil {
			return nil, fmt.Errorf("include %s: %w", p, err)
		}
		for _, path := range paths {
			more, err := r.file(path, depth+1)
			switch {
			case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
				r.notice(err.Error())
			case err != nil:
				return nil, err
			}
			items = append(items, more...)
		}
	}
	return items, nil
}

// configWords splits a line into its keyword, in lower case, and arguments.
func configWords(line string) (key string, args []string, err error) {
	line = strings.Trim(line, " \t\r\f")
	if line == "" || line[0] == '#' {
		return "", nil, nil
	}
	end := strings.IndexAny(line, " \t=")
	if end < 0 {
		return strings.ToLower(line), nil, nil
	}
	if end == 0 {
		return "", nil, errors.New("a keyword is missing")
	}
	key, rest := strings.ToLower(line[:end]), strings.TrimLeft(line[end:], " \t")
	if r, ok := strings.CutPrefix(rest, "="); ok {
		rest = strings.TrimLeft(r, " \t")
	}
	args, err = splitWords(rest)
	return key, args, err
}

// splitWords knows quotes, backslashes before what they protect, and comments at
// the start of a word.
func splitWords(s string) ([]string, error) {
	var words []string
	for i := 0; i < len(s); {
		if s[i] == ' ' || s[i] == '\t' {
			i++
			continue
		}
		if s[i] == '#' {
			break
		}
		word, n, err := nextWord(s[i:])
		if err != nil {
			return nil, err
		}
		words = append(words, word)
		i += n
	}
	return words, nil
}

func nextWord(s string) (word string, n int, err error) {
	var b strings.Builder
	var quote byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && (strings.IndexByte(`'"\`, s[i+1]) >= 0 || quote == 0 && s[i+1] == ' '):
			i++
			b.WriteByte(s[i])
		case quote == 0 && (c == ' ' || c == '\t'):
			return b.String(), i, nil
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
		default:
			b.WriteByte(c)
		}
	}
	if quote != 0 {
		return "", 0, errors.New("a quote is opened and not closed")
	}
	return b.String(), len(s), nil
}
