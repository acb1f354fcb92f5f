package e2e

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// oracle finds certificates in what kubectl prints, by means of its own: the
// standard library and a handful of expressions. It is slow and simple.
type oracle struct {
	seen    sightings
	ders    map[string][]byte // by sha256
	objects map[string]int    // by kind
}

// memo is what values hold, by sha256: a cluster's values are many, the same in
// many places, and looked at often.
var memo sync.Map

// oracleDepth is how deep the oracle looks into values in values.
const oracleDepth = 7

// readList reads the objects of `kubectl get -o json`.
func readList(list []byte) (*oracle, error) {
	var l struct{ Items []map[string]any }
	if err := json.Unmarshal(list, &l); err != nil {
		return nil, fmt.Errorf("read what kubectl printed: %w", err)
	}
	o := newOracle()
	for _, item := range l.Items {
		o.object(item)
		o.objects[field(item, "kind")]++
	}
	return o, nil
}

func newOracle() *oracle {
	return &oracle{seen: sightings{}, ders: map[string][]byte{}, objects: map[string]int{}}
}

// object reads everything of an object but its metadata, in which copies lie.
func (o *oracle) object(item map[string]any) {
	kind, _ := item["kind"].(string)
	place := kind + "/"
	if ns := field(item, "metadata", "namespace"); ns != "" {
		place += ns + "/"
	}
	place += field(item, "metadata", "name")
	switch kind {
	case "Secret", "ConfigMap":
		for _, part := range []string{"data", "binaryData"} {
			values, _ := item[part].(map[string]any)
			for key, v := range values {
				text, _ := v.(string)
				value := []byte(text)
				if kind == "Secret" || part == "binaryData" {
					value, _ = base64.StdEncoding.DecodeString(text)
				}
				o.recall(place+"["+key+"]", value)
			}
		}
	default:
		for key, v := range item {
			if key != "metadata" {
				o.tree(place, key, v)
			}
		}
	}
}

// tree reads the strings of a cluster-scoped object, each at its own field.
func (o *oracle) tree(place, path string, v any) {
	switch v := v.(type) {
	case string:
		o.recall(place+"#"+path, []byte(v))
	case []any:
		for i, child := range v {
			if entry, name, content := named(child); entry != nil && strings.HasPrefix(path, "spec.") {
				o.tree(place, path+"["+name+"]", content)
				continue
			}
			o.tree(place, fmt.Sprintf("%s[%d]", path, i), child)
		}
	case map[string]any:
		for key, child := range v {
			o.tree(place, path+"."+key, child)
		}
	}
}

// named knows the elements of lists that are called by their names: the files of
// Ignition, and the registries of a ControllerConfig.
func named(v any) (entry map[string]any, name string, content any) {
	entry, _ = v.(map[string]any)
	if contents, ok := entry["contents"].(map[string]any); ok {
		return entry, field(entry, "path"), contents["source"]
	}
	if data, ok := entry["data"]; ok {
		return entry, field(entry, "file"), data
	}
	return nil, "", nil
}

// recall reads a value, if it was not read before.
func (o *oracle) recall(place string, data []byte) {
	id := sha256.Sum256(data)
	known, ok := memo.Load(id)
	if !ok {
		fresh := newOracle()
		fresh.value("", data, 0)
		known, _ = memo.LoadOrStore(id, fresh.ders)
	}
	for sha, der := range known.(map[string][]byte) {
		o.ders[sha] = der
		o.seen.add(place, sha)
	}
}

// value reads a value as everything that it might be, all at once.
func (o *oracle) value(place string, data []byte, depth int) {
	if depth > oracleDepth || len(data) < 100 {
		return
	}
	o.der(place, data)
	if r, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		inner, _ := io.ReadAll(io.LimitReader(r, 2<<20)) // bombs are no business of an oracle's
		o.value(place, inner, depth+1)
	}
	o.documents(place, data, depth)
	if !mayHold.Match(data) {
		return
	}
	text := unescape(string(data))
	for _, block := range pemBlock.FindAllStringSubmatch(text, -1) {
		if der, err := base64.StdEncoding.DecodeString(pad(notBase64.ReplaceAllString(block[1], ""))); err == nil {
			o.der(place, der)
		}
	}
	for _, run := range base64Run.FindAllString(strings.ReplaceAll(text, "\r", ""), -1) {
		if der, err := base64.RawStdEncoding.DecodeString(plainBase64(run)); err == nil {
			o.value(place, der, depth+1)
		}
	}
}

// The block of a certificate, and base64 in one line or in many of a length.
var (
	pemBlock   = regexp.MustCompile(`(?s)-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----(.*?)-----END`)
	notBase64  = regexp.MustCompile(`[^A-Za-z0-9+/]`)
	mayHold    = regexp.MustCompile(`CERTIFICATE-----|[A-Za-z0-9+/_-]{60}`)
	base64Run  = regexp.MustCompile(`(?:[A-Za-z0-9+/_-]{60,100}\n[ \t]*)*[A-Za-z0-9+/_-]{4,}`)
	whiteSpace = regexp.MustCompile(`\s`)
	escapedEnd = regexp.MustCompile(`\\+[nr]`)
	escapedSep = regexp.MustCompile(`\\+/`)
)

// plainBase64 turns any base64 into that of the standard alphabet, without
// white space and padding.
func plainBase64(s string) string {
	s = whiteSpace.ReplaceAllString(s, "")
	return strings.NewReplacer("-", "+", "_", "/").Replace(s)
}

func pad(s string) string { return s + strings.Repeat("=", (4-len(s)%4)%4) }

// unescape undoes what JSON, YAML and URLs do to a text's lines and signs.
func unescape(text string) string {
	if !strings.ContainsAny(text, `\%`) {
		return text
	}
	text = escapedEnd.ReplaceAllString(text, "\n")
	text = escapedSep.ReplaceAllString(text, "/")
	text = strings.NewReplacer(`\u002b`, "+", `\u002B`, "+", `\u003d`, "=", `\u003D`, "=").Replace(text)
	if strings.Contains(text, "%0A") || strings.Contains(text, "%20CERTIFICATE") {
		if plain, err := url.PathUnescape(text); err == nil {
			text = plain
		}
	}
	return text
}

// documents reads the strings of JSON documents.
func (o *oracle) documents(place string, data []byte, depth int) {
	for d := json.NewDecoder(bytes.NewReader(data)); ; {
		var v any
		if err := d.Decode(&v); err != nil {
			return
		}
		o.strings(place, v, depth+1)
	}
}

func (o *oracle) strings(place string, v any, depth int) {
	switch v := v.(type) {
	case string:
		o.value(place, []byte(v), depth)
	case []any:
		for _, child := range v {
			o.strings(place, child, depth)
		}
	case map[string]any:
		for _, child := range v {
			o.strings(place, child, depth)
		}
	}
}

// der reads DER certificates, one behind the other.
func (o *oracle) der(place string, data []byte) {
	for len(data) > 0 {
		var element asn1.RawValue
		rest, err := asn1.Unmarshal(data, &element)
		if err != nil {
			return
		}
		if _, err := x509.ParseCertificate(element.FullBytes); err == nil {
			sha := shaOf(element.FullBytes)
			o.ders[sha] = element.FullBytes
			o.seen.add(place, sha)
		}
		data = rest
	}
}

func shaOf(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// field is a string deep in an object; empty where there is none.
func field(item map[string]any, path ...string) string {
	var v any = item
	for _, step := range path {
		m, _ := v.(map[string]any)
		v = m[step]
	}
	s, _ := v.(string)
	return s
}
