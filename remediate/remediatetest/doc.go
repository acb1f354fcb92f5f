// Package remediatetest has what tests of repairs share: nodes made of files and shells (Machine,
// World), clusters made of facts (Fixture), a fake API of certificate requests, and faults at
// each step. Its own tests run whole repairs and undo them.
package remediatetest
