package collect

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// jsonFields are the values of some keys of an object in JSON that is known to be valid. What is left
// out of them is passed over, and decoded by nothing: a list has megabytes.
type jsonFields map[string]json.RawMessage

// fieldsOfJSON finds the values of these keys; false: it is no object, or one whose keys
// encoding/json takes for these in other ways, such as KIND for kind.
func fieldsOfJSON(raw []byte, keys ...string) (jsonFields, bool) {
	out := jsonFields{}
	odd := false
	ok := eachJSONField(raw, func(key, value []byte) bool {
		text := key[1 : len(key)-1]
		for _, want := range keys {
			if string(text) != want {
				odd = odd || strings.EqualFold(string(text), want)
				continue
			}
			if _, twice := out[want]; twice {
				return false
			}
			out[want] = value
		}
		odd = odd || bytes.IndexByte(text, '\\') >= 0
		return !odd
	})
	return out, ok
}

// eachJSONField passes on the keys, with their quotes, and values of an object; false: it is none, or
// each returned false.
func eachJSONField(raw []byte, each func(key, value []byte) bool) bool {
	at := jsonSpace(raw, 0)
	if at == len(raw) || raw[at] != '{' {
		return false
	}
	if at = jsonSpace(raw, at+1); at < len(raw) && raw[at] == '}' {
		return true
	}
	for at < len(raw) && raw[at] == '"' {
		end := jsonEnd(raw, at)
		if end < 0 {
			return false
		}
		key := raw[at:end]
		if at = jsonSpace(raw, end); at == len(raw) || raw[at] != ':' {
			return false
		}
		at = jsonSpace(raw, at+1)
		if end = jsonEnd(raw, at); end <= at || !each(key, raw[at:end]) {
			return false
		}
		switch at = jsonSpace(raw, end); {
		case at == len(raw):
			return false
		case raw[at] == '}':
			return true
		}
		at = jsonSpace(raw, at+1)
	}
	return false
}

// elementsOfJSON are those of a list in JSON that is known to be valid; false: it is no list.
func elementsOfJSON(raw []byte) (items []json.RawMessage, ok bool) {
	at := jsonSpace(raw, 0)
	if at == len(raw) || raw[at] != '[' {
		return nil, false
	}
	if at = jsonSpace(raw, at+1); at < len(raw) && raw[at] == ']' {
		return nil, true
	}
	for at < len(raw) {
		end := jsonEnd(raw, at)
		if end <= at {
			break
		}
		items = append(items, raw[at:end])
		switch at = jsonSpace(raw, end); {
		case at < len(raw) && raw[at] == ']':
			return items, true
		case at == len(raw) || raw[at] != ',':
			return nil, false
		}
		at = jsonSpace(raw, at+1)
	}
	return nil, false
}

// headerOf decodes the header of an object in JSON that is known to be valid, as json.Unmarshal does.
func headerOf(raw []byte) (h header, err error) {
	f, ok := fieldsOfJSON(raw, "apiVersion", "kind", "metadata", "items")
	for key, into := range map[string]any{"apiVersion": &h.APIVersion, "kind": &h.Kind, "metadata": &h.Metadata} {
		if value, has := f[key]; ok && has {
			ok = json.Unmarshal(value, into) == nil
		}
	}
	if items, has := f["items"]; ok && has {
		h.Items, ok = elementsOfJSON(items)
	}
	if ok {
		return h, nil
	}
	h = header{}
	err = json.Unmarshal(raw, &h)
	return h, err
}

// gatheredValues are the values of a Secret or ConfigMap.
type gatheredValues struct {
	Type       string            `json:"type"`
	Data       map[string]string `json:"data"`
	StringData map[string]string `json:"stringData"`
	BinaryData map[string]string `json:"binaryData"`
}

// valuesOf decodes those of an object in JSON that is known to be valid, as json.Unmarshal does.
func valuesOf(raw []byte) (v gatheredValues, err error) {
	f, ok := fieldsOfJSON(raw, "type", "data", "stringData", "binaryData")
	if value, has := f["type"]; ok && has {
		ok = json.Unmarshal(value, &v.Type) == nil
	}
	for key, into := range map[string]*map[string]string{"data": &v.Data, "stringData": &v.StringData, "binaryData": &v.BinaryData} {
		if value, has := f[key]; ok && has {
			*into, ok = stringsOfJSON(value)
		}
	}
	if ok {
		return v, nil
	}
	v = gatheredValues{}
	err = json.Unmarshal(raw, &v)
	return v, err
}

// stringsOfJSON are the values of an object of strings; false: it is another.
func stringsOfJSON(raw []byte) (map[string]string, bool) {
	out := map[string]string{}
	ok := eachJSONField(raw, func(key, value []byte) bool {
		if value[0] != '"' {
			return false
		}
		k, readable := stringOfJSON(key)
		v, too := stringOfJSON(value)
		out[k] = v
		return readable && too
	})
	return out, ok
}

func stringOfJSON(quoted []byte) (s string, ok bool) {
	if bytes.IndexByte(quoted, '\\') < 0 && utf8.Valid(quoted) {
		return string(quoted[1 : len(quoted)-1]), true
	}
	return s, json.Unmarshal(quoted, &s) == nil
}
