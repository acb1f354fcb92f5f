// Command mutate changes one thing in a file of certrot, runs the tests of its package, and
// says whether they noticed. What they don't notice is either not tested or makes no
// difference; equivalent.txt lists the latter, each with its reason.
//
//	go run ./test/mutate -seed 1 -n 300              300 mutants of all targets
//	go run ./test/mutate -target csr -list           the mutants that there are
//	go run ./test/mutate -state mutants.jsonl …      goes on where an earlier run stopped
//
// No file of the checkout is written: the compiler is given the changed file with
// -overlay. The targets are in targets.go, what is changed in mutants.go.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	var o options
	flag.Uint64Var(&o.seed, "seed", 1, "which mutants are chosen")
	flag.IntVar(&o.n, "n", 300, "how many mutants are chosen, of all targets together; 0: all")
	flag.StringVar(&o.target, "target", "", "only this target: "+strings.Join(names(), ", "))
	flag.StringVar(&o.id, "id", "", "only mutants whose ID contains this")
	flag.StringVar(&o.state, "state", "", "a file that keeps verdicts; those for unchanged packages are not run again")
	flag.Float64Var(&o.goal, "goal", 0, "fail where less than this share of the mutants of a target is killed, 0 to 1")
	flag.BoolVar(&o.list, "list", false, "print the chosen mutants and run nothing")
	flag.Parse()
	if flag.NArg() > 0 || o.target != "" && !slices.Contains(names(), o.target) {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	fine, err := o.run(ctx, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
	if !fine {
		os.Exit(1)
	}
}

// root is the folder of the module, where the program is started.
func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, "go.mod")); err == nil {
			return d, nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("find go.mod above %s: %w", dir, os.ErrNotExist)
		}
	}
}
