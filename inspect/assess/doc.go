// Package assess has what a judgement says, whoever judged: how severe it is, what is wrong
// where, and what to do.
package assess
