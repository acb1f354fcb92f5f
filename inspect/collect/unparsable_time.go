package collect

import (
	"encoding/json"
	"regexp"
	"time"
)

// unparsableTime is a time that JSON has no form for: the API server writes it where who wrote the
// object gave an offset that leads out of the years 0 to 9999.
var unparsableTime = regexp.MustCompile(`"(?:-[0-9]+|[0-9]{5,})-[0-9]{2}-[0-9]{2}T[^"\\]*"`)

// decodeWithoutUnparsableTimes reads an object. One time of it that cannot be parsed makes nothing else
// unread, and is no time.
func decodeWithoutUnparsableTimes(raw []byte, into any) error {
	err := json.Unmarshal(raw, into)
	if err == nil || !unparsableTime.Match(raw) {
		return err
	}
	return json.Unmarshal(unparsableTime.ReplaceAll(raw, []byte("null")), into)
}

// utc is a time in UTC; zero where it has no form in JSON, as that of a pod's status may not, which its kubelet writes:
// protobuf has any. A snapshot with one could not be written.
func utc(t time.Time) time.Time {
	if t = t.UTC(); t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

// timeTolerant reads an item of a list by decodeWithoutUnparsableTimes.
type timeTolerant[T any] struct{ into *T }

// UnmarshalJSON implements json.Unmarshaler.
func (l *timeTolerant[T]) UnmarshalJSON(raw []byte) error {
	return decodeWithoutUnparsableTimes(raw, l.into)
}
