module github.com/kubectl-certrot/kubectl-certrot/test/release

go 1.26.0
