package cli

// UnchangedError says that nothing was changed, and why.
type UnchangedError struct {
	how   string
	Inner error
}

func (e *UnchangedError) Error() string { return e.how + ": " + e.Inner.Error() }

func (e *UnchangedError) Unwrap() error { return e.Inner }

// RefusedUnchanged is the error of a refusal before anything was changed.
func RefusedUnchanged(inner error) error {
	return &UnchangedError{"refused, nothing was changed", inner}
}

// NothingChanged is the error of a failure before anything was changed.
func NothingChanged(inner error) error { return &UnchangedError{"nothing was changed", inner} }
