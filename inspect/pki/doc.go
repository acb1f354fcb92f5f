// Package pki finds and describes certificates in bytes: PEM of any kind and
// number, DER, base64 in text, kubeconfigs and other JSON/YAML documents.
//
// Keystores (PKCS#12, JKS, JCEKS), PKCS#7 messages and revocation lists are read,
// too.
//
// It does no IO, knows nothing of Kubernetes or OpenShift, and refuses to hold
// private keys: of a key it keeps the sha256 of its public half, which answers
// "does it match?", and nothing else. Malformed input is data (BadBlock), never
// a Go error, and never a panic.
//
// # What Scan finds
//
// A value is tried, in this order, as
//
//   - gzip, a Java keystore, DER (certificates one after another, requests, keys,
//     revocation lists, PKCS#7, PKCS#12), BER of the last two,
//   - a data: URL, base64 throughout (standard or URL alphabet, wrapped or not),
//   - a stream of JSON or YAML documents, each string of which is a value again,
//   - text, with PEM blocks and stretches of base64 in it; what base64 decodes to
//     is a value again.
//
// Values nest up to six deep. A document is read once more as text, which adds
// what its structure does not show, such as a certificate in a comment.
//
// PEM is read more tolerantly than programs do, who may want a BEGIN line to
// start a line, or can't read \n and %0A: what they skip is often what an
// incident is about. A value that is PEM, and holds a certificate that
// encoding/pem skips, gets a BadBlock beside the certificate.
//
// Of a JKS, certificates are read without its password. What is encrypted in a
// PKCS#12 is tried with usual passwords, and with those that Unlock is given; the
// rounds of key derivation have a bound, for a value and for all, whatever a file
// asks for. What is costly does not spend what is kept for the ordinary. What stays
// closed is Locked.
//
// The time that reading takes is proportional to the size of the value, what
// gzip unpacks to (at most 32 MiB) included. Where a limit cuts reading short, a
// BadBlock of type "value" says so.
package pki
