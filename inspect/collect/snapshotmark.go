package collect

import (
	"reflect"
	"slices"
)

// markSentences marks what a snapshot's file says in whole sentences: any user may have
// written it, and so they are not this program's, as those of a reading are. Names are
// marked with all others (inspect.Snapshot.MarkForeign).
func markSentences(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			markSentences(v.Elem())
		}
	case reflect.Slice:
		switch v.Type().Elem().Kind() {
		case reflect.Struct, reflect.Pointer:
			for i := range v.Len() {
				markSentences(v.Index(i))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Field(i)
			switch {
			case !v.Type().Field(i).IsExported(): // of times
			case f.Kind() != reflect.String:
				markSentences(f)
			case isSentence(v.Type().Field(i).Name):
				f.SetString(sentence(f.String()))
			}
		}
	}
}

func isSentence(field string) bool {
	return slices.Contains([]string{"Unauthenticated", "Synthetic", "What", "Where", "Reason", "Bad", "Problem", "Unread", "Refused", "Detail", "How", "Format", "Why", "Silent"}, field)
}
