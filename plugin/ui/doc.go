// Package ui prints for people and machines: tables, documents, progress, and a screen on which
// nothing that others wrote passes for a line of the program.
package ui
