// Package pbe is encryption by a password as PKCS#12 files use it: the ways to make a key of
// a password, the ciphers, and the digest by which a password is known to fit.
//
// What trying a password costs is a number of rounds (Cost): how many may be spent is for
// the caller to say. It keeps nothing of what it decrypts.
package pbe
