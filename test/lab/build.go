//go:build linux

package main

import (
	"context"
	"fmt"
	"os"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/binaries"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/node"
	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/rootfs"
)

// build builds all that the tests' labs consist of, so that none that comes up waits for it.
func build(ctx context.Context, components string) error {
	ctx, cancel := context.WithTimeout(ctx, buildLimit)
	defer cancel()
	if _, err := binaries.Ensure(ctx, components, os.Stdout); err != nil {
		return err
	}
	if err := rootfs.Prerequisites(); err != nil {
		fmt.Println("without nodes:", err)
		return nil
	}
	set, err := rootfs.Ensure(ctx, os.Stdout)
	if err != nil {
		return err
	}
	_, err = binaries.EnsureMultus(ctx, components, node.MultusThick, set, os.Stdout)
	return err
}
