package nodeexec

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Address is where a node answers SSH.
type Address struct {
	Host string
	User string // "" leaves it to the ssh configuration
	Port int    // 0 as well
}

// Inventory says where nodes are when the API can't.
type Inventory map[string]Address

// ParseInventory reads lines of "node address [user] [port]"; # starts a
// comment. A line that is anything else is an error: at the time when this file
// is needed, a node left out by a typing mistake is one more surprise.
func ParseInventory(r io.Reader, name string) (Inventory, error) {
	inv, seen := Inventory{}, map[string]int{}
	lines := bufio.NewScanner(r)
	for number := 1; lines.Scan(); number++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		bad := func(format string, args ...any) error {
			return fmt.Errorf("%s:%d: %s; a line is: node address [user] [port]", name, number, fmt.Sprintf(format, args...))
		}
		if len(words) == 1 {
			if strings.ContainsAny(words[0], "=:") {
				return nil, bad("a node has no address")
			}
			return nil, bad("node %s has no address", words[0])
		}
		if len(words) > 4 {
			return nil, bad("%s is too much", told(words[4]))
		}
		node, a := words[0], Address{Host: words[1]}
		if first, ok := seen[node]; ok {
			return nil, bad("node %s is also in line %d", node, first)
		}
		for _, w := range []string{node, a.Host} {
			if w[0] == '-' || strings.ContainsFunc(w, notInHost) {
				return nil, bad("%s is no name or IP address (a port has its own column)", told(w))
			}
		}
		if strings.Count(a.Host, ":") == 1 {
			return nil, bad("%s: a port has its own column", told(a.Host))
		}
		rest := words[2:]
		if len(rest) > 0 && (len(rest) == 2 || !isNumber(rest[0])) {
			if a.User = rest[0]; isNumber(a.User) || strings.Contains(a.User, "=") {
				return nil, bad("%s is no user", told(a.User))
			}
			rest = rest[1:]
		}
		if len(rest) == 1 {
			port, err := strconv.ParseUint(rest[0], 10, 16)
			if err != nil || port == 0 {
				return nil, bad("%s is no port", told(rest[0]))
			}
			a.Port = int(port)
		}
		inv[node], seen[node] = a, number
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return inv, nil
}

// told is a word of a line in an error. Inventories of other programs have passwords behind a =.
func told(word string) string {
	if name, _, assigns := strings.Cut(word, "="); assigns {
		return fmt.Sprintf("%q", name+"=…")
	}
	return fmt.Sprintf("%q", word)
}

// Nodes are the names in an inventory, sorted.
func (inv Inventory) Nodes() []string {
	names := make([]string, 0, len(inv))
	for n := range inv {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

func isNumber(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}
