// Package csr decides which certificate requests of kubelets may be approved, and approves them.
package csr
