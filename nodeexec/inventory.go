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
// is needed, a node left out by a typing mistake is one more surprise. The error has
// no word of the line: files of other programs have passwords in them.
func ParseInventory(r io.Reader, name string) (Inventory, error) {
	inv, seen := Inventory{}, map[string]int{}
	lines := bufio.NewScanner(r)
	for number := 1; lines.Scan(); number++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		a, wrong := parseAddress(words)
		if first, ok := seen[words[0]]; ok && wrong == "" {
			wrong = fmt.Sprintf("its node is also in line %d", first)
		}
		if wrong != "" {
			return nil, fmt.Errorf("%s:%d: %s; a line is: node address [user] [port]", name, number, wrong)
		}
		inv[words[0]], seen[words[0]] = a, number
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return inv, nil
}

// parseAddress reads the words of a line, or says which of them is wrong.
func parseAddress(words []string) (a Address, wrong string) {
	switch {
	case len(words) == 1:
		return a, "the address is missing"
	case len(words) > 4:
		return a, fmt.Sprintf("it has %d words", len(words))
	}
	for i, column := range []string{"node", "address"} {
		if words[i][0] == '-' || strings.ContainsFunc(words[i], notInHost) {
			return a, "the " + column + " is no name or IP address (a port has its own column)"
		}
	}
	if a.Host = words[1]; strings.Count(a.Host, ":") == 1 {
		return a, "the address has a port, which has its own column"
	}
	rest := words[2:]
	if len(rest) > 0 && (len(rest) == 2 || !isNumber(rest[0])) {
		switch a.User = rest[0]; {
		case isNumber(a.User):
			return a, "the user is a number"
		case strings.Contains(a.User, "="):
			return a, "the user has a ="
		}
		rest = rest[1:]
	}
	if len(rest) == 1 {
		port, err := strconv.ParseUint(rest[0], 10, 16)
		if err != nil || port == 0 {
			return a, "the port is no number from 1 to 65535"
		}
		a.Port = int(port)
	}
	return a, ""
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
