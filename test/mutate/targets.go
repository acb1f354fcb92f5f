package main

// target is a part of certrot whose tests are judged.
type target struct {
	name  string
	dir   string   // the package's folder
	files []string // patterns of path.Match in dir
	tests []string // folders of other packages whose tests judge it too
	run   string   // -run of go test in those: the tests that are about it; empty: all
}

// packages are those whose tests are run, the target's own first.
func (t target) packages() []string { return append([]string{t.dir}, t.tests...) }

// pattern is -run of go test in a package: of the target's own, all tests judge it.
func (t target) pattern(folder string) string {
	if folder == t.dir {
		return ""
	}
	return t.run
}

// planTests are the tests of what is done, and in which order.
const planTests = "Plan|Wave|Order|Failure|Effect|Parallel|Action|Step|Worse"

// targets are what decides: which client trusts which server, what is found, what is approved, what is
// refused, what is written, and in which order.
func targets() []target {
	return []target{
		{"trust", "inspect/trust", []string{"*.go"}, nil, ""},
		{"checks", "inspect/check", []string{"*.go"}, nil, ""},
		{"kubeconfig", "remediate/kubeconfig", []string{"*.go"}, nil, ""},
		{"csr", "remediate/csr", []string{"*.go"}, nil, ""},
		{"preflight", "remediate/preflight", []string{"*.go"}, nil, ""},
		{"plan", "remediate", []string{"plan.go"}, []string{"remediate/apiint", "remediate/undo", "remediate/remediatetest"}, planTests},
		{"waves", "remediate/apiint", []string{"waves.go", "apiint.go"}, []string{"remediate/remediatetest"}, planTests},
	}
}

func names() (out []string) {
	for _, t := range targets() {
		out = append(out, t.name)
	}
	return out
}
