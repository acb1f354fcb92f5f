package apply

import (
	"crypto/x509"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A server that refuses someone is there, and no reason to act as without one.
func TestWhoRefusesIsThere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{x509.UnknownAuthorityError{}, true},
		{apierrors.NewUnauthorized("token"), true},
		{errors.New("connection refused"), false},
	} {
		if got := answered(fmt.Errorf("read /version: %w", c.err)); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
	if answered(nil) {
		t.Error("nobody was asked")
	}
}
