package collect

import (
	"encoding/json"
	"regexp"
)

// oddTime is a time that JSON has no form for: the API server writes it where who wrote the object
// gave an offset that leads out of the years 0 to 9999.
var oddTime = regexp.MustCompile(`"(?:-[0-9]+|[0-9]{5,})-[0-9]{2}-[0-9]{2}T[^"\\]*"`)

// withoutOddTimes reads an object. One time of it that can't be read makes nothing else unread, and is
// no time.
func withoutOddTimes(raw []byte, into any) error {
	err := json.Unmarshal(raw, into)
	if err == nil || !oddTime.Match(raw) {
		return err
	}
	return json.Unmarshal(oddTime.ReplaceAll(raw, []byte("null")), into)
}

// lenient reads an item of a list by withoutOddTimes.
type lenient[T any] struct{ into *T }

// UnmarshalJSON implements json.Unmarshaler.
func (l *lenient[T]) UnmarshalJSON(raw []byte) error { return withoutOddTimes(raw, l.into) }
