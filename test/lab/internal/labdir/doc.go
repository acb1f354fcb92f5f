// Package labdir is a lab's folder (.lab in the checkout, or $LAB_DIR): where
// each file lies, what is written down about the running lab, the lock that lets
// one command at a time change it, and the proof that a process id is still the
// lab's.
//
// It starts and ends nothing.
package labdir
