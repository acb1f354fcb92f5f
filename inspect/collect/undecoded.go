package collect

import (
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// undecoded is an error of a decoder without the text that is no time: what a file or a
// server has in the place of a time may be secret.
func undecoded(err error) error {
	var bad *time.ParseError
	if errors.As(err, &bad) {
		return errors.New("a time in it is no RFC 3339 time")
	}
	return err
}

// undecodedMetadata also names the field of an object's metadata that is no time.
func undecodedMetadata(raw []byte, err error) error {
	var bad *time.ParseError
	var o struct {
		Metadata struct {
			Created json.RawMessage `json:"creationTimestamp"`
			Deleted json.RawMessage `json:"deletionTimestamp"`
		} `json:"metadata"`
	}
	if !errors.As(err, &bad) || json.Unmarshal(raw, &o) != nil {
		return undecoded(err)
	}
	isTime := func(text json.RawMessage) bool { return text == nil || json.Unmarshal(text, new(time.Time)) == nil }
	wrong := []string{"creationTimestamp", "deletionTimestamp"}
	wrong = slices.DeleteFunc(wrong, func(field string) bool {
		if field == "creationTimestamp" {
			return isTime(o.Metadata.Created)
		}
		return isTime(o.Metadata.Deleted)
	})
	if len(wrong) == 0 {
		return undecoded(err)
	}
	return errors.New(wrong[0] + " is no RFC 3339 time")
}
