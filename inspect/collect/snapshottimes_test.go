package collect

import (
	"strings"
	"testing"
)

// What is no time in a snapshot may be anything: its place is named, and not its value.
func TestAnErrorNamesTheFieldOfASnapshotThatIsNoTime(t *testing.T) {
	t.Parallel()
	for text, at := range map[string]string{
		`"taken":"hunter2"`:               "taken: ",
		`"cluster":{"created":"hunter2"}`: "cluster: ",
		`"nodes":[{"name":"a"},{"name":"b","clock":{"before":"hunter2"}}]`:     "nodes[1]: ",
		`"reported":[{"at":"","bundle":"","subject":"","notAfter":"hunter2"}]`: "reported[0]: ",
	} {
		_, err := readSnapshot(strings.NewReader(`{"apiVersion":"certrot/v1alpha1","kind":"Snapshot",` + text + `}`))
		if want := "decode snapshot: " + at + "a time in it is no RFC 3339 time"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
