// Package assess has what a judgement says, of whatever kind it is: how severe it is, what is
// wrong where, and what to do.
package assess
