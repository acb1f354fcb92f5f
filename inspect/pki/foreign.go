package pki

import "github.com/kubectl-certrot/kubectl-certrot/foreign"

// Foreign is foreign.Text.
func Foreign(s string) string { return foreign.Text(s) }

// Quoted is foreign.Quoted.
func Quoted(s string) string { return foreign.Quoted(s) }

// Visible is foreign.Visible.
func Visible(s, allowed string) string { return foreign.Visible(s, allowed) }
