package cli

// Unchanged says that nothing was changed, and why.
type Unchanged struct {
	how   string
	Inner error
}

func (e *Unchanged) Error() string { return e.how + ": " + e.Inner.Error() }

func (e *Unchanged) Unwrap() error { return e.Inner }

// RefusedUnchanged is the error of a refusal before anything was changed.
func RefusedUnchanged(inner error) error { return &Unchanged{"refused, nothing was changed", inner} }

// NothingChanged is the error of a failure before anything was changed.
func NothingChanged(inner error) error { return &Unchanged{"nothing was changed", inner} }
