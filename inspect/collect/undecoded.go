package collect

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
)

// notTime is the error of a field of a file that is no time. Where a list has it, it names
// the item.
type notTime struct{ at string }

func (e *notTime) Error() string { return e.at + ": a time in it is no RFC 3339 time" }

// atItem adds to the error of a time that it is in this item of a list.
func atItem(i int, err error) error {
	if bad := (*time.ParseError)(nil); errors.As(err, &bad) {
		return &notTime{fmt.Sprintf("[%d]", i)}
	}
	return err
}

// inField adds to the error of a time that it is in this field.
func inField(key json.Token, err error) error {
	var bad *time.ParseError
	var item *notTime
	switch {
	case errors.As(err, &item):
		return &notTime{fmt.Sprintf("%v%s", key, item.at)}
	case errors.As(err, &bad):
		return &notTime{fmt.Sprint(key)}
	}
	return err
}

// undecoded is an error of a decoder without the text that is no time: what a file or a
// server has in the place of a time may be secret.
func undecoded(err error) error {
	if errors.Is(err, errNoList) { // this program's words
		return err
	}
	return foreign.Error(untimed(err))
}

// untimed is undecoded, of an error that names fields in this program's words.
func untimed(err error) error {
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
