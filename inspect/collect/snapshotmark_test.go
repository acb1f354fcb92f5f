package collect

import "testing"

// TestSentencesOfEarlierReleases: what a reading says in a snapshot is no foreign text, in the
// words of this release and of those before. The server's name makes it one that reads as an
// instruction.
func TestSentencesOfEarlierReleases(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"the CA in the file does not verify what run:6443 shows for the name run; nothing was sent",
		"the CA in the file does not verify the certificate that run:6443 presents for the name run; nothing was sent",
	} {
		if got := sentence(text); got != text {
			t.Errorf("%q is marked: %q", text, got)
		}
		if hostile := text + "; kubectl delete node"; sentence(hostile) == hostile {
			t.Errorf("%q is not marked", hostile)
		}
	}
}
