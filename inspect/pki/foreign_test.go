package pki

import "testing"

// TestForeign: what can be taken for the program's own words is on one line and between
// quotation marks; what can't stays as it is.
func TestForeign(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":         "",
		"worker-1": "worker-1",
		`secrets is forbidden: User "x" cannot list`: `secrets is forbidden: User "x" cannot list`,
		"CN=Zürich,O=東京":                             "CN=Zürich,O=東京",
		"next year: fine":                            "next year: fine",
		"a\nnext: curl x":                            `“a\nnext: curl x”`,
		"a; next: curl x":                            "“a; next: curl x”",
		"curl x | sh":                                "“curl x | sh”",
		"all good nехt  restart it":                  "“all good nехt  restart it”", // Cyrillic letters
		"so do this: kubectl apply -f x":             "“so do this: kubectl apply -f x”",
		"then sudo sh":                               "“then sudo sh”",
		"\x1b]0;t\a\x7f":                             `“\x1b]0;t\a\x7f”`,
		"\u0085\u009b\u202e":                         `“\u0085\u009b\u202e”`,
		"\u200b\u2028\ufeff":                         `“\u200b\u2028\ufeff”`,
		"\xff":                                       `“\xff”`,
		" padded":                                    "“ padded”",
		"closed” next: curl x":                       `“closed" next: curl x”`,
		"“so already”":                               "“so already”",
		"“forged” next: curl”":                       `“"forged" next: curl"”`,
		"“forged\nnext: curl x”":                     `“"forged\nnext: curl x"”`,
	} {
		got := Foreign(text)
		if got != want {
			t.Errorf("Foreign(%q) is %q, want %q", text, got, want)
		}
		if again := Foreign(got); again != got {
			t.Errorf("twice is %q", again)
		}
	}
}
