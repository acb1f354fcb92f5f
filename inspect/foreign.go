package inspect

import (
	"reflect"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// MarkForeign writes each text that came with the facts on one line, and between quotation
// marks where it could be taken for words of this program: pki.Foreign. What plans and
// reports are made of is then harmless wherever it is printed. It leaves certificates and
// requests as they are, which are told from their bytes; the labels and annotations of
// objects, which are data; and next steps, which are this program's own.
func (s *Snapshot) MarkForeign() {
	mark(reflect.ValueOf(s).Elem(), map[any]bool{})
}

// MarkForeign does the same for what moves nodes: the messages of operators, and names.
func (m *Machinery) MarkForeign() { mark(reflect.ValueOf(m).Elem(), map[any]bool{}) }

func mark(v reflect.Value, seen map[any]bool) {
	switch v.Kind() {
	case reflect.String:
		if text := v.String(); text != "" {
			if marked := pki.Foreign(text); marked != text {
				v.SetString(marked)
			}
		}
	case reflect.Pointer:
		if v.IsNil() || seen[v.Interface()] {
			return
		}
		seen[v.Interface()] = true
		mark(v.Elem(), seen)
	case reflect.Slice:
		if kind := v.Type().Elem().Kind(); kind == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			mark(v.Index(i), seen)
		}
	case reflect.Map:
		markMap(v)
	case reflect.Struct:
		markFields(v, seen)
	}
}

// markMap marks texts; what else maps hold has none.
func markMap(v reflect.Value) {
	if v.Type().Elem().Kind() != reflect.String {
		return
	}
	for _, k := range v.MapKeys() {
		text := v.MapIndex(k).String()
		if marked := pki.Foreign(text); marked != text {
			v.SetMapIndex(k, reflect.ValueOf(marked).Convert(v.Type().Elem()))
		}
	}
}

func markFields(v reflect.Value, seen map[any]bool) {
	switch v.Type() {
	case reflect.TypeFor[pki.Cert](), reflect.TypeFor[pki.Request](), reflect.TypeFor[pki.CRL]():
		return
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch {
		case !f.IsExported() || f.Name == "Next" || f.Name == "Labels" || f.Name == "Annotations":
		case v.Type() == reflect.TypeFor[Actor]() && f.Name == "Paused": // compared with what a run wrote, and marked where it is printed
		case v.Type() == reflect.TypeFor[pki.Location]() && strings.Contains("Key Path Field", f.Name): // String encodes them
		default:
			mark(v.Field(i), seen)
		}
	}
}
