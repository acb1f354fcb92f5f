package inspect

import (
	"strings"
	"testing"
)

func TestAddressesAreReadAsTheyAreTyped(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]struct{ dialled, name, sni string }{
		"api-int.example.com:6443": {"api-int.example.com:6443", "api-int.example.com", "api-int.example.com"},
		"API.example.com.:443":     {"API.example.com.:443", "API.example.com", "API.example.com"},
		"192.0.2.5:6443":           {"192.0.2.5:6443", "192.0.2.5", ""},
		"[fd00::1]:6443":           {"[fd00::1]:6443", "fd00::1", ""},
		"[fe80::1%eth0]:22623":     {"[fe80::1%eth0]:22623", "fe80::1", ""},
	} {
		got, err := ParseAddress(typed)
		if err != nil || got.HostPort != want.dialled || got.Name != want.name || got.SNI() != want.sni {
			t.Errorf("%s: %+v, SNI %q, %v", typed, got, got.SNI(), err)
		}
	}
	for typed, want := range map[string]string{
		"api-int":            "the port is missing",
		"api-int:":           "the port is missing",
		"[fd00::1]":          "the port is missing",
		":6443":              "the host is missing",
		"api-int:0":          "1 to 65535",
		"api-int:70000":      "1 to 65535",
		"api-int:-1":         "1 to 65535",
		"api-int:https":      "1 to 65535",
		"fd00::1":            "between brackets",
		"fd00::1:6443":       "between brackets",
		"https://api:6443":   "URL",
		"a b:6443":           "neither an IP address nor a DNS name",
		"\x1b[2Jx:6443":      "neither",
		"-oProxyCommand=x:1": "neither",
		"[a]b:1":             "not written as",
	} {
		if got, err := ParseAddress(typed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %q", typed, got, err, want)
		}
	}
}
