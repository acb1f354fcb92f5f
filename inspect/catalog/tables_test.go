package catalog

import "testing"

// TestTablesAreMadeOnce: lookups go through them for each certificate.
// Who appends to one has a copy.
func TestTablesAreMadeOnce(t *testing.T) {
	t.Parallel()
	for name, table := range map[string]func() (length, capacity int, first any){
		"Places":     func() (int, int, any) { rows := Places(); return len(rows), cap(rows), &rows[0] },
		"Rotations":  func() (int, int, any) { rows := Rotations(); return len(rows), cap(rows), &rows[0] },
		"Aggregates": func() (int, int, any) { rows := Aggregates(); return len(rows), cap(rows), &rows[0] },
		"Edges":      func() (int, int, any) { rows := Edges(); return len(rows), cap(rows), &rows[0] },
		"Deliveries": func() (int, int, any) { rows := Deliveries(); return len(rows), cap(rows), &rows[0] },
		"Servers":    func() (int, int, any) { rows := Servers(); return len(rows), cap(rows), &rows[0] },
		"Triggers":   func() (int, int, any) { rows := Triggers(); return len(rows), cap(rows), &rows[0] },
	} {
		length, capacity, first := table()
		if _, _, again := table(); first != again {
			t.Errorf("%s is made for each caller", name)
		}
		if capacity > length {
			t.Errorf("%s has room behind its %d rows, which callers would share", name, length)
		}
	}
}
