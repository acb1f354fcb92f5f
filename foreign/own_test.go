package foreign

import "testing"

// TestOwnSentencesStandBareByTheirForm: and what others say in them is marked.
func TestOwnSentencesStandBareByTheirForm(t *testing.T) {
	t.Parallel()
	forms := []string{"look at {}: {}", "connect to {}", "folder {} belongs to user {n}", "it names {,}", "{own}; it is {}", "it is gone", "no object named \"{}\""}
	for text, want := range map[string]string{
		"it is gone": "it is gone",
		"connect to host a port 22: Connection refused": "connect to host a port 22: Connection refused",
		"connect to host a port 22":                     "connect to “host a port 22”",
		"it is gone.":                                   "“it is gone.”",
		"It is gone":                                    "“It is gone”",
		"look at /a: permission denied":                 "look at /a: permission denied",
		"look at /a: Delete the Secret a":               "look at /a: “Delete the Secret a”",
		"look at /a: fine: Delete it":                   "look at /a: “fine: Delete it”",
		"look at /a: ":                                  "“look at /a: ”",
		"look at : x":                                   "“look at : x”",
		"look at “a: b”: x":                             "look at “a: b”: x",
		"look at a. Delete b: x":                        "look at “a. Delete b”: x",
		"look at /a: “b c”":                             "look at /a: “b c”",
		"look at /a: “b c” and delete it":               "look at /a: “\"b c\" and delete it”",
		"look at /a: x ”: delete “it":                   "look at /a: “x \": delete \"it”",
		"folder a b belongs to user 1":                  "folder “a b” belongs to user 1",
		"folder a belongs to user root. Delete it":      "“folder a belongs to user root. Delete it”",
		"it names a, delete the nodes, c":               "it names a, “delete the nodes”, c",
		"look at /a: EOF; it is False":                  "look at /a: “EOF; it is False”",
		"it is gone; it is False":                       "it is gone; it is False",
		"delete it; it is False":                        "“delete it”; it is False",
		"it is gone; it is fine. Delete it":             "it is gone; it is “fine. Delete it”",
		`no object named "a"`:                           `no object named "a"`,
		"x\nlook at /a: b":                              `“x\nlook at /a: b”`,
		"look at /a: b\n  next  curl":                   `look at /a: “b\n\x20 next\x20 curl”`,
		"a; it is b; it is c; it is d; it is e; f g":    "a; it is “b; it is c; it is d; it is e; f g”",
	} {
		got := Own(text, forms)
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
		if Prose(got) != got {
			t.Errorf("%q is no sentence that may be printed: %s", text, got)
		}
		if again := Own(got, forms); again != got {
			t.Errorf("%q is %s, and then %s", text, got, again)
		}
	}
}

func FuzzOwn(f *testing.F) {
	f.Add("look at “a: b”: x; it is “")
	f.Fuzz(func(t *testing.T, s string) {
		got := Own(s, []string{"look at {}: {}", "{own}; it is {}", "{n} of {,}"})
		if Prose(got) != got {
			t.Errorf("%q: %q", s, got)
		}
	})
}
