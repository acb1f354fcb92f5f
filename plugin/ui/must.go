package ui

// Must is for errors that only a mistake in this program can cause, seen by
// its first test.
func Must(err error) {
	if err != nil {
		panic(err) //nolint:forbidigo // no input leads here: a flag that is completed does not exist
	}
}
