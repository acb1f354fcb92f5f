//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/binaries"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/checkout"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/flock"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/identity"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/kubeapi"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/labdir"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/pki"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/supervisor"
)

const (
	// defaultVersion is a label in the cluster: nothing of that version runs here.
	defaultVersion = "4.15.0-0.okd-2024-03-10-010116"
	// buildLimit and startLimit end an `up` that hangs.
	buildLimit = 40 * time.Minute
	startLimit = 4 * time.Minute
)

func up(ctx context.Context, dir labdir.Dir, root string) error {
	if err := checkout.Prerequisites(); err != nil {
		return err
	}
	lockCtx, cancel := context.WithTimeout(ctx, buildLimit)
	defer cancel()
	unlock, err := dir.Lock(lockCtx, func() { fmt.Println("another lab command is at work on", dir, "- waiting for it") })
	if err != nil {
		return err
	}
	defer unlock()

	state, found, err := dir.State()
	if err != nil {
		return err
	}
	switch sick := dir.Sick(ctx, state); {
	case found && sick == nil:
		if err := otherNodes(state); err != nil {
			return err
		}
		return alreadyUp(dir, state, root)
	case found:
		fmt.Printf("the lab in %s is not whole (%v): rebuilding it\n", dir, sick)
	}
	set, err := binaries.Ensure(lockCtx, checkout.Components(root), os.Stdout)
	if err != nil {
		_ = os.Remove(string(dir)) // if it is empty, it was made for the lock only
		return err
	}
	m, err := planNodes(lockCtx, checkout.Components(root))
	if err != nil {
		_ = os.Remove(string(dir))
		return err
	}

	// One lab at a time: a start takes all cores, and several together take longer than one
	// after the other, and run into the time limits of what they wait for.
	started, err := flock.Wait(lockCtx, filepath.Join(set.Cache(), ".start.lock"), func() {
		fmt.Println("another lab is starting on this machine: waiting for it")
	})
	if err != nil {
		_ = os.Remove(string(dir))
		return err
	}
	defer started()
	ctx, cancel = context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := stop(dir); err != nil {
		return err
	}
	if err := dir.Clear(false); err != nil {
		return err
	}
	w := &watch{began: time.Now()}
	if err := raise(ctx, dir, parts{set, m}, state.Port, w); err != nil {
		return abandon(ctx, dir, err)
	}
	w.say("up. On this host: export KUBECONFIG=%s", dir.Kubeconfig())
	w.say("inside: %s kubectl get nodes", dir.RunScript())
	if m.noWhy != "" {
		w.say("without nodes: %s", m.noWhy)
	}
	return nil
}

func alreadyUp(dir labdir.Dir, state labdir.State, root string) error {
	if want := os.Getenv("LAB_VERSION"); want != "" && want != state.Version {
		return fmt.Errorf("the lab is up and claims to be %s, not %s: run `make lab-down` first", state.Version, want)
	}
	if want := os.Getenv("LAB_GOAWAY"); want != "" && want != state.GoawayChance {
		return fmt.Errorf("the lab is up with LAB_GOAWAY=%q, not %q: run `make lab-down` first", state.GoawayChance, want)
	}
	if want := os.Getenv("LAB_MULTUS"); want != "" && want != state.Multus {
		return fmt.Errorf("the lab is up with LAB_MULTUS=%q, not %q: run `make lab-down` first", state.Multus, want)
	}
	fmt.Printf("the lab is already up: export KUBECONFIG=%s\n", dir.Kubeconfig())
	set, _, err := binaries.Lookup(checkout.Components(root))
	if err != nil {
		return err
	}
	if set.Folder() != state.Components {
		fmt.Println("note: test/lab/components has changed since: `make lab-down lab-up` brings up the new ones")
	}
	return nil
}

// parts are what a lab is put together from.
type parts struct {
	binaries binaries.Set
	machines machines
}

// raise brings up a lab in an empty folder.
func raise(ctx context.Context, dir labdir.Dir, p parts, port int, w *watch) error {
	if err := dir.Prepare(); err != nil {
		return err
	}
	if err := furnish(dir, p.binaries); err != nil {
		return err
	}
	if err := p.machines.furnish(ctx, dir); err != nil {
		return err
	}
	listener, port, err := listen(port)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }()
	hostPort := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	if err := pki.WriteKubeconfig(dir.Kubeconfig(), dir.PKI(), "https://"+hostPort, pki.Admin); err != nil {
		return err
	}
	w.say("certificates and kubeconfigs")

	cmd, err := supervisor.Start(dir, listener, goawayFlags())
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	process, err := labdir.Identify(cmd.Process.Pid)
	if err != nil {
		return err
	}
	state := labdir.State{
		Supervisor:   process,
		Port:         port,
		Version:      version(),
		GoawayChance: os.Getenv("LAB_GOAWAY"),
		Components:   p.binaries.Folder(),
		Nodes:        p.machines.names(),
		NoNodes:      p.machines.noWhy,
		Multus:       string(p.machines.plan.Multus),
	}
	if err := dir.WriteState(state); err != nil {
		return err
	}
	if err := supervisorReady(ctx, dir, ended); err != nil {
		return err
	}
	w.say("control plane ready")
	if err := plant(ctx, dir, p, w); err != nil {
		return err
	}
	for _, name := range []string{supervisor.CertRotation, supervisor.CertSyncer} {
		if err := supervisor.Release(dir, name); err != nil {
			return err
		}
	}
	api, err := kubeapi.New(dir.PKI(), hostPort)
	if err != nil {
		return err
	}
	if err := rootCAPublished(ctx, api); err != nil {
		return err
	}
	w.say("kube-root-ca.crt published by the controller manager")
	if err := certificatesKept(ctx, dir, api); err != nil {
		return err
	}
	w.say("OpenShift's rotation controllers keep its certificates")
	if len(p.machines.plan.Nodes) > 0 {
		if err := nodesReady(ctx, dir, api, p.machines, w); err != nil {
			return err
		}
	}
	state.Ready = true
	return dir.WriteState(state)
}

// goawayFlags are what makes clients connect again now and then, as OpenShift's API servers
// do; here it is to be asked for.
func goawayFlags() []string {
	chance := os.Getenv("LAB_GOAWAY")
	if chance == "" {
		return nil
	}
	return []string{"--goaway-chance=" + chance}
}

func version() string {
	if v := os.Getenv("LAB_VERSION"); v != "" {
		return v
	}
	return defaultVersion
}

// furnish puts everything into the folder that doesn't need a running lab.
func furnish(dir labdir.Dir, set binaries.Set) error {
	// As if the installer had run an hour ago: what is younger than that may be under way.
	if err := pki.Mint(dir.PKI(), time.Now().Add(-time.Hour)); err != nil {
		return err
	}
	if err := pki.WriteKubeconfig(dir.InnerKubeconfig(), dir.PKI(), "https://"+pki.ExternalHost+":6443", pki.Admin); err != nil {
		return err
	}
	if err := componentKubeconfigs(dir); err != nil {
		return err
	}
	// localhost's certificate outlives the incident, as the service network's does, by
	// which operators go on OpenShift.
	if err := pki.WriteKubeconfig(dir.ComponentKubeconfig(supervisor.CertRotation), dir.PKI(), "https://localhost:6443", pki.Admin); err != nil {
		return err
	}
	// They would make what is not there yet.
	for _, name := range []string{supervisor.CertRotation, supervisor.CertSyncer} {
		if err := supervisor.StartOnHold(dir, name); err != nil {
			return err
		}
	}
	for _, name := range binaries.Names() {
		if err := os.Symlink(set.Bin(name), dir.Bin(name)); err != nil {
			return fmt.Errorf("link a component into the lab: %w", err)
		}
	}
	// A copy of this very program: the supervisor must outlive `go run`, and its
	// path is what proves later that a process is this lab's.
	if err := copySelf(dir.Bin("lab")); err != nil {
		return fmt.Errorf("copy the lab's program: %w", err)
	}
	return writeRunScript(dir)
}

// componentKubeconfigs are of those that dial api-int as nodes do.
func componentKubeconfigs(dir labdir.Dir) error {
	for _, name := range []string{"controller-manager", "scheduler"} {
		err := pki.WriteKubeconfig(dir.ComponentKubeconfig(name), dir.PKI(), "https://"+pki.InternalHost+":6443", "kube-"+name+"-client-cert-key")
		if err != nil {
			return err
		}
	}
	return nil
}

func copySelf(to string) error {
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, from); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// listen opens the host's end: on the port of the lab that was here before if
// that is free, so that a kubeconfig someone has loaded stays right about it.
func listen(port int) (*net.TCPListener, int, error) {
	on := func(port int) (*net.TCPListener, error) {
		return net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
	}
	l, err := on(port)
	if err != nil && port != 0 {
		l, err = on(0) // any free one
	}
	if err != nil {
		return nil, 0, fmt.Errorf("open a port on 127.0.0.1 for the lab's API server: %w", err)
	}
	address, err := netip.ParseAddrPort(l.Addr().String())
	if err != nil {
		return nil, 0, fmt.Errorf("read the port of the lab's API server: %w", err)
	}
	return l, int(address.Port()), nil
}

// supervisorReady waits for the supervisor's word that the control plane runs.
func supervisorReady(ctx context.Context, dir labdir.Dir, ended <-chan error) error {
	for {
		if s, found, err := dir.Status(); err == nil && found && s.Ready {
			return nil
		}
		select {
		case err := <-ended:
			return errors.Join(errors.New("start the control plane: the supervisor ended"), err)
		case <-ctx.Done():
			return fmt.Errorf("start the control plane: %w", context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// rootCAPublished is the proof that the controller manager works.
func rootCAPublished(ctx context.Context, api *kubeapi.Client) error {
	for {
		_, err := api.Get(ctx, "/api/v1/namespaces/openshift-multus/configmaps/kube-root-ca.crt")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the controller manager to publish kube-root-ca.crt: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// certificatesKept waits until the rotation controllers have nothing left to do, and
// what they have done has been brought to the components.
func certificatesKept(ctx context.Context, dir labdir.Dir, api *kubeapi.Client) error {
	for {
		_, err := os.Stat(supervisor.SettledFile(dir))
		if err == nil {
			err = synced(ctx, dir, api, slices.Collect(maps.Values(identity.Consumed())))
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for rotation controllers and certificate syncer: %w: see %s and %s", err, dir.Log(supervisor.CertRotation), dir.Log(supervisor.CertSyncer))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// watch says what has been done, and when.
type watch struct{ began time.Time }

func (w *watch) say(format string, args ...any) {
	fmt.Printf("[%5.1fs] "+format+"\n", append([]any{time.Since(w.began).Seconds()}, args...)...)
}

func writeRunScript(dir labdir.Dir) error {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	text := fmt.Sprintf("#!/bin/sh\n# Runs a command inside the lab: %s kubectl get nodes\nLAB_DIR=%s exec %s run \"$@\"\n",
		filepath.Base(dir.RunScript()), quote(string(dir)), quote(dir.Bin("lab")))
	if err := os.WriteFile(dir.RunScript(), []byte(text), 0o755); err != nil {
		return fmt.Errorf("write the script that runs commands in the lab: %w", err)
	}
	return nil
}
