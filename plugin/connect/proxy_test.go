package connect

import (
	"errors"
	"strings"
	"testing"
)

// TestAProxysAddressIsNotQuoted, since a password may be in it.
func TestAProxysAddressIsNotQuoted(t *testing.T) {
	t.Parallel()
	err := withoutProxy(errors.New(`Get "https://api:6443/version": invalid proxy address "me:geheim77@proxy:80x": parse`))
	if strings.Contains(err.Error(), "geheim77") || !strings.Contains(err.Error(), "HTTPS_PROXY") {
		t.Error(err)
	}
	if other := errors.New("refused"); !errors.Is(withoutProxy(other), other) {
		t.Error("another error is lost")
	}
}
