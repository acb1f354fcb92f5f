package remediate

import "slices"

// Note is what people are to know of a plan beside its steps.
type Note struct {
	Kind    NoteKind
	Text    string
	Command string // lists what the Text ends with, on a line of its own; empty: none
}

// NoteKind is what a note is about: a summary has a place for each.
type NoteKind int

// The kinds of notes.
const (
	NotePlain    NoteKind = iota
	NoteAccepted          // a risk that was accepted by name
	NotePassed            // what is worth knowing of a check that passes
	NotePending           // requests of a node in Plan.Unapproved
)

// AcceptedNote says that a risk was accepted: its name, and the reason for it.
func AcceptedNote(risk string) Note {
	return Note{Kind: NoteAccepted, Text: "Accepted by name: " + risk}
}

// Notes are the notes of a plan, in their order.
type Notes []Note

// PlainNotes are notes of these texts.
func PlainNotes(texts ...string) Notes {
	var out Notes
	for _, text := range texts {
		out = append(out, Note{Text: text})
	}
	return out
}

// Add adds the notes that are not there yet.
func (n *Notes) Add(notes ...Note) {
	for _, note := range notes {
		if !slices.Contains(*n, note) {
			*n = append(*n, note)
		}
	}
}

// Texts are the notes where their kind does not matter.
func (n Notes) Texts() []string {
	out := make([]string, len(n))
	for i, note := range n {
		if out[i] = note.Text; note.Command != "" {
			out[i] += " " + note.Command
		}
	}
	return out
}
