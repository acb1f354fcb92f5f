package main

// target is a part of certrot whose tests are judged.
type target struct {
	name  string
	dir   string   // the package's folder
	files []string // patterns of path.Match in dir
	run   string   // -run of go test: the tests that are about it; empty: all
}

// targets are what decides: who trusts whom, what is found, what is approved, what is
// refused, what is written, and in which order.
func targets() []target {
	return []target{
		{"trust", "inspect/trust", []string{"*.go"}, ""},
		{"checks", "inspect/check", []string{"*.go"}, ""},
		{"kubeconfig", "remediate/kubeconfig", []string{"*.go"}, ""},
		{"csr", "remediate", []string{"csr*.go"}, "CSR|Csr|Approv|Kubelet|Names|Request|Addresses|Signer|Node"},
		{"preflight", "remediate", []string{"preflight*.go"}, "Preflight|Checks|Refus|Risk|Plan|Version|Heartbeat|Memory|Pods|Order|Plain"},
		{"plan", "remediate", []string{"plan.go", "waves.go", "apiint.go"}, "Plan|Wave|Order|Failure|Effect|Parallel|Action|Step|Worse"},
	}
}

func names() (out []string) {
	for _, t := range targets() {
		out = append(out, t.name)
	}
	return out
}
