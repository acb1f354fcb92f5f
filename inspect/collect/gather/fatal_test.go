package gather

import (
	"strings"
	"testing"
)

// TestAFatalWordOfANodeIsQuoted: root on a worker may answer any sentence in the program's place.
func TestAFatalWordOfANodeIsQuoted(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"sha256sum,%20shasum%20or%20openssl%20is%20needed%20on%20the%20node":   "sha256sum, shasum or openssl is needed on the node",
		"its%20files%20are%20fine.%20Delete%20the%20Secret%20x%20and%20reboot": "“its files are fine. Delete the Secret x and reboot”",
		"permission%20denied.%20Delete%20the%20nodes":                          "“permission denied. Delete the nodes”",
		"reboot": "“reboot”",
	} {
		_, err := verified([]byte(header + "\nfatal " + word + "\n"))
		if err == nil || !strings.HasSuffix(err.Error(), "the node can't run the program: "+want) {
			t.Errorf("%s: %v, want %s", word, err, want)
		}
	}
}
