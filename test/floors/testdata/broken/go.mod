// A module where each rule of the floors is broken once: see TestRulesCatch.
// It is never built, only listed; the stubs stand in for what must not be there.
module github.com/kubectl-certrot/kubectl-certrot

go 1.26.0

require (
	example.com/third v0.0.0
	github.com/spf13/cobra v0.0.0
	k8s.io/kubernetes v0.0.0
)

replace (
	example.com/third => ./stubs/third
	github.com/spf13/cobra => ./stubs/cobra
	k8s.io/kubernetes => ./stubs/kubernetes
)
