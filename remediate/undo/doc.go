// Package undo plans the way back from a run, by its journal and by what nodes keep of it.
package undo
