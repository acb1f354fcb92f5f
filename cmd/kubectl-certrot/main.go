// Command kubectl-certrot is a plugin of kubectl and oc: see the README.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // the ways to log in that kubeconfigs may name

	"github.com/kubectl-certrot/kubectl-certrot/plugin"
)

// version is set by the linker (see the Makefile).
var version string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second Ctrl-C ends the process at once
	}()
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	code := plugin.Main(ctx, plugin.VersionOf(version), os.Args, streams)
	stop()
	os.Exit(code)
}
