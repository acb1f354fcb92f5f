// Command kubectl-certrot is a plugin of kubectl and oc: see the README.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // the ways to log in that kubeconfigs may name

	"github.com/kubectl-certrot/kubectl-certrot/plugin"
	"github.com/kubectl-certrot/kubectl-certrot/plugin/cli"
)

// version is set by the linker (see the Makefile).
var version string

func main() {
	// Nearly all that is read is kept until the end, so that the usual 100 % would
	// let the heap grow to twice of what a cluster's certificates take. Who set
	// GOGC has chosen.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
	// While little is read, that alone would collect garbage at each further
	// megabyte, a fifth of all the time. What is never written to takes no memory,
	// and counts as heap: half of it is room for garbage, at any size.
	room := make([]byte, 16<<20)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second Ctrl-C stops the process at once
	}()
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	if err := cli.LogTo(os.Stderr); err != nil {
		panic(err) //nolint:forbidigo // a flag of klog's is not there: its first test sees it
	}
	code := plugin.Main(ctx, cli.VersionOf(version), os.Args, streams)
	stop()
	runtime.KeepAlive(room)
	os.Exit(code)
}
