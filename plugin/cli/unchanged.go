package cli

// Unchanged says that nothing was changed, and why.
type Unchanged struct {
	how   string
	Inner error
}

func (e *Unchanged) Error() string { return e.how + ": " + e.Inner.Error() }

func (e *Unchanged) Unwrap() error { return e.Inner }

func RefusedUnchanged(inner error) error { return &Unchanged{"refused, nothing was changed", inner} }

func NothingChanged(inner error) error { return &Unchanged{"nothing was changed", inner} }
