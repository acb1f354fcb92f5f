package trust

import (
	"testing"
	"time"
)

// TestWithin: 693 requests halve those who have not been asked, at a chance of 0.001.
func TestWithin(t *testing.T) {
	if got := within(0.001, 0.5, 10*time.Second); got != 6930*time.Second {
		t.Errorf("half of them within %s", got)
	}
}
