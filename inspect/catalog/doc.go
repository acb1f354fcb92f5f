// Package catalog is what certrot knows about OpenShift, OKD and Kubernetes, as
// data: which places hold certificates and what for, how long a certificate
// lives there and when it is renewed (Places), who signs what (Rotations),
// which bundle must contain which others (Aggregates), and what reaches a place
// by itself (Deliveries). Every row says where it was read and how sure that is
// (Evidence), and for which versions of which component it holds (Range).
//
// It owns this knowledge alone: a version comparison anywhere else, or here
// outside a row's Range, is a bug. It does no IO, reads no clock, parses no
// certificate, and judges nothing.
//
// docs/catalog.md lists the rows for people; it and the goldens under testdata
// are made from them by UPDATE=1 go test ./inspect/catalog.
package catalog
