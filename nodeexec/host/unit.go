package host

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

// Unit is a service of the node's systemd, in systemd's words.
type Unit struct {
	Name    string // as systemd has it: not that of an alias
	Active  string // "active", "activating", "failed"
	Sub     string // "running", "auto-restart", "dead"
	Result  string // "success", "exit-code"
	MainPID int    // 0 if there is none

	// Entered is when it last became active, to the second; zero if it never
	// did. Now is when this was read. Both are of the node's clock.
	Entered time.Time
	Now     time.Time

	NeedDaemonReload bool // its files are not those that systemd read
	Restarts         int  // by systemd itself, since it was started; -1: this systemd does not count
}

// LookUnit returns how a service is. One that the node's systemd can't load is an
// error.
func LookUnit(ctx context.Context, n nodeexec.Node, name string) (Unit, error) {
	u, err := lookUnit(ctx, n, name)
	if err != nil {
		return Unit{}, fmt.Errorf("look at unit %s on %s: %w", name, n.Name(), err)
	}
	return u, nil
}

func lookUnit(ctx context.Context, n nodeexec.Node, name string) (Unit, error) {
	if err := checkUnit(name); err != nil {
		return Unit{}, err
	}
	a, err := ask(ctx, n, request{op: "unit", args: []string{name}})
	if err == nil {
		err = a.failure()
	}
	if err != nil {
		return Unit{}, err
	}
	return parseUnit(a.lines)
}

// Restart has the node's systemd restart a service in about three seconds, and
// returns before that: the way to the node may hang on that service, and the
// restart does not hang on the way. Whether it happened is in LookUnit's
// Entered. It does not make systemd read its files again.
//
// A second Restart is a second restart.
func (r RunFolder) Restart(ctx context.Context, n nodeexec.Node, unit string) error {
	args, err := r.args(unit)
	if err == nil {
		err = checkUnit(unit)
	}
	if err == nil {
		var a answer
		if a, err = ask(ctx, n, request{op: "restart", args: args, changes: true}); err == nil {
			err = a.failure()
		}
	}
	if err != nil {
		return fmt.Errorf("restart %s on %s: %w", unit, n.Name(), err)
	}
	return nil
}

// checkUnit takes plain names of services only: systemd expands patterns, and
// takes a path for a mount.
func checkUnit(name string) error {
	const plain = "@_.-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	stem, ok := strings.CutSuffix(name, ".service")
	if !ok || stem == "" || stem[0] == '-' || stem[0] == '.' || len(name) > 200 || strings.Trim(stem, plain) != "" {
		return fmt.Errorf("%q is not the plain name of a service, such as kubelet.service", name)
	}
	return nil
}

// parseUnit reads "now SECONDS" and what systemctl show prints.
func parseUnit(lines []string) (Unit, error) {
	if len(lines) == 0 {
		return Unit{}, fmt.Errorf("the answer is empty")
	}
	clock, ok := strings.CutPrefix(lines[0], "now ")
	if !ok {
		return Unit{}, fmt.Errorf("the answer %s has no time", quoted(lines[0]))
	}
	now, err := unixTime(clock)
	if err != nil {
		return Unit{}, err
	}
	has := map[string]string{}
	for _, line := range lines[1:] {
		key, value, ok := strings.Cut(line, "=")
		if _, twice := has[key]; !ok || twice {
			return Unit{}, fmt.Errorf("the answer %s of systemctl is not understood", quoted(line))
		}
		has[key] = value
	}
	for _, key := range []string{"Id", "LoadState", "ActiveState", "SubState", "MainPID", "NeedDaemonReload"} {
		if has[key] == "" {
			return Unit{}, fmt.Errorf("systemctl does not tell %s; see on the node whether it works: systemctl show", key)
		}
	}
	if state := has["LoadState"]; state != "loaded" {
		return Unit{}, fmt.Errorf("systemd can't load it: %s", quoted(state))
	}
	u := Unit{Name: has["Id"], Active: has["ActiveState"], Sub: has["SubState"], Result: has["Result"], Now: now, Restarts: -1}
	if u.MainPID, err = strconv.Atoi(has["MainPID"]); err != nil || u.MainPID < 0 {
		return Unit{}, fmt.Errorf("MainPID is %s", quoted(has["MainPID"]))
	}
	switch has["NeedDaemonReload"] {
	case "yes":
		u.NeedDaemonReload = true
	case "no":
	default:
		return Unit{}, fmt.Errorf("NeedDaemonReload is %s", quoted(has["NeedDaemonReload"]))
	}
	if text, ok := has["NRestarts"]; ok { // since systemd 235
		if u.Restarts, err = strconv.Atoi(text); err != nil || u.Restarts < 0 {
			return Unit{}, fmt.Errorf("NRestarts is %s", quoted(text))
		}
	}
	if text := has["ActiveEnterTimestamp"]; text != "" && text != "n/a" {
		if u.Entered, err = time.Parse("Mon 2006-01-02 15:04:05 UTC", text); err != nil {
			return Unit{}, fmt.Errorf("ActiveEnterTimestamp is %s, which is no time in UTC", quoted(text))
		}
	}
	return u, nil
}
