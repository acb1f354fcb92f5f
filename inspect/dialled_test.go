package inspect

import "testing"

func TestDialled(t *testing.T) {
	for server, want := range map[string][2]string{
		"https://api-int.example.com:6443":   {"api-int.example.com:6443", "api-int.example.com"},
		"https://api-int.example.com":        {"api-int.example.com:443", "api-int.example.com"},
		"https://[fd00::7]:6443":             {"[fd00::7]:6443", "fd00::7"},
		"https://[api-int.example.com]:6443": {"api-int.example.com:6443", "api-int.example.com"}, // multus, thin
		"https://[10.0.0.7]:6443":            {"10.0.0.7:6443", "10.0.0.7"},
		"https://[api-int.example.com:6443":  {},
		"https://$(reboot):6443":             {},
		"https://a;reboot;:6443":             {},
		"https://a&&reboot:6443":             {},
		"https://-k:6443":                    {},
		"https://my_node.example.com:6443":   {"my_node.example.com:6443", "my_node.example.com"},
		"http://api-int.example.com:6443":    {},
		"":                                   {},
	} {
		address, name, err := KubeconfigCluster{Server: server}.Dialled()
		if got := [2]string{address, name}; got != want || (err == nil) != (want[0] != "") {
			t.Errorf("%s: %v, %v, want %v", server, got, err, want)
		}
	}
}
