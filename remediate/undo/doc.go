// Package undo plans the undo of a run, by its journal and by what nodes keep of it.
package undo
