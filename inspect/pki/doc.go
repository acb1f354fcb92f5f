// Package pki finds and describes certificates in bytes: PEM of any kind and
// number, DER, base64 in text, kubeconfigs and other JSON/YAML documents.
//
// It does no IO, knows nothing of Kubernetes or OpenShift, and refuses to hold
// private keys: of a key it keeps the sha256 of its public half, which answers
// "does it match?", and nothing else. Malformed input is data (BadBlock), never
// a Go error, and never a panic.
package pki
