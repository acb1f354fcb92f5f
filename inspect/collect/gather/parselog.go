package gather

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// log takes mode, lines with tokens, lines with keys, first and last of them, path.
func (p *parser) log(f []string) error {
	if !strings.HasPrefix(f[5], "/") {
		return fmt.Errorf("path %q does not start at the root", f[5])
	}
	raw, err := strconv.ParseUint(f[0], 16, 32)
	tokens, err1 := strconv.ParseUint(f[1], 10, 31)
	keys, err2 := strconv.ParseUint(f[2], 10, 31)
	if err != nil || err1 != nil || err2 != nil {
		return fmt.Errorf("log %q: mode or number of lines is none", f[5])
	}
	l := Log{Path: f[5], Mode: mode(raw), Tokens: int(tokens), Keys: int(keys)}
	if err := times(f[3:5], &l.First, &l.Last); err != nil {
		return fmt.Errorf("log %q: %w", f[5], err)
	}
	p.result.Logs = append(p.result.Logs, l)
	return nil
}

// times reads times that stand before lines of a log; an empty one is none.
func times(f []string, to ...*time.Time) error {
	for i, text := range f {
		if text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, text)
		if at = at.UTC(); err != nil || at.Year() < 1 || at.Year() > 9999 {
			return fmt.Errorf("%.40q is no time", text)
		}
		*to[i] = at
	}
	return nil
}

// heard takes the times of first and last line, path, whether clients were left out.
func (p *parser) heard(f []string) error {
	l := ServerLog{Path: f[2], LeftOut: f[3] != "0"}
	if !strings.HasPrefix(l.Path, "/") {
		return fmt.Errorf("path %q does not start at the root", l.Path)
	}
	if err := times(f[:2], &l.From, &l.To); err != nil {
		return fmt.Errorf("log %q: %w", l.Path, err)
	}
	p.result.ServerLogs = append(p.result.ServerLogs, l)
	return nil
}

// refused takes address, reason, number, first and last time; it is of the log before.
func (p *parser) refused(f []string) error {
	if len(p.result.ServerLogs) == 0 {
		return errors.New("a client of no log")
	}
	log := &p.result.ServerLogs[len(p.result.ServerLogs)-1]
	client, err := netip.ParseAddr(f[0])
	n, err1 := strconv.ParseUint(f[2], 10, 31)
	if err != nil || err1 != nil || client.Zone() != "" || strings.Trim(f[1], "abcdefghijklmnopqrstuvwxyz ") != "" || len(f[1]) > 60 {
		return fmt.Errorf("log %q: %.80q is no client with a reason and a number", log.Path, f[:3])
	}
	r := Refused{Client: client.Unmap(), Reason: f[1], Count: int(n)}
	if err := times(f[3:5], &r.First, &r.Last); err != nil {
		return fmt.Errorf("log %q: %w", log.Path, err)
	}
	log.Refused = append(log.Refused, r)
	return nil
}
