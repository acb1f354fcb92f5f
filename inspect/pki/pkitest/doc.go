// Package pkitest mints real certificates for tests and demonstrations. Its
// output depends on its arguments alone: keys are derived from names,
// signatures are deterministic (RFC 6979), and no clock and no source of
// randomness is read. So golden files can hold what it makes.
//
// Its keys are public knowledge: never use one outside tests. Arguments that
// can't be minted are mistakes in the caller and panic.
package pkitest
