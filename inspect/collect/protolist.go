package collect

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// A list of Secrets or ConfigMaps is most of what certrot reads, and most of
// its objects hold no certificate. So the answer is not decoded into objects:
// it is read one item at a time into one buffer, and of an item only the values
// are looked at, where they lie. Metadata is decoded for the few that hold
// something. Memory does not depend on the page, and CPU little on the rest.
//
// The format is Kubernetes' protobuf: four bytes of magic, then the message
// runtime.Unknown, whose field 1 has the kind, in its field 2, and field 2 is the list: field 1
// its metadata, field 2 its items (k8s.io/apimachinery/pkg/runtime/generated.proto, k8s.io/api/core/v1/
// generated.proto).
const (
	protobufMagic = "k8s\x00"
	typeField     = 1
	kindField     = 2
	rawField      = 2
	maxType       = 64 << 10
	metadataField = 1
	itemsField    = 2
	// maxItem bounds what a server may make us buffer: etcd takes 1.5 MB.
	maxItem = 64 << 20
)

// readProtobufList reads a list and passes on its metadata, which come first, and
// its items. An item's bytes are valid during the call only.
func readProtobufList(in io.Reader, begin func(metav1.ListMeta), each func(item []byte) error) (metav1.ListMeta, error) {
	r := &wireReader{r: bufio.NewReaderSize(in, 16<<10)}
	magic := make([]byte, len(protobufMagic))
	if _, err := io.ReadFull(r, magic); err != nil || string(magic) != protobufMagic {
		return metav1.ListMeta{}, fmt.Errorf("the answer is not Kubernetes' protobuf (it begins with %q)", magic)
	}
	var meta metav1.ListMeta
	kind, lists := "", 0
	for {
		field, n, err := r.next()
		if errors.Is(err, io.EOF) {
			if lists != 1 {
				return meta, errNoList
			}
			return meta, checkListKind(kind)
		}
		switch {
		case err != nil:
		case field == rawField:
			lists++
			err = r.list(n, &meta, begin, each)
		case field == typeField && n <= maxType:
			kind, err = r.kind(n)
		default:
			_, err = io.CopyN(io.Discard, r, n)
		}
		if err != nil {
			return meta, fmt.Errorf("decode list: %w", err)
		}
	}
}

// wireReader reads protobuf's wire format from a stream.
type wireReader struct {
	r    *bufio.Reader
	read int64
	item bytes.Buffer // reused
}

func (r *wireReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.read += int64(n)
	return n, err
}

// ReadByte makes it an io.ByteReader, for varints.
func (r *wireReader) ReadByte() (byte, error) {
	b, err := r.r.ReadByte()
	if err == nil {
		r.read++
	}
	return b, err
}

// next reads a field's number and length. io.EOF means that the stream ends
// where a field could begin.
func (r *wireReader) next() (field protowire.Number, length int64, err error) {
	tag, err := binary.ReadUvarint(r)
	if err != nil {
		return 0, 0, err
	}
	field, kind := protowire.DecodeTag(tag)
	if kind != protowire.BytesType {
		return 0, 0, fmt.Errorf("field %d is of wire type %d", field, kind)
	}
	n, err := binary.ReadUvarint(r)
	if err != nil {
		return 0, 0, fmt.Errorf("length of field %d: %w", field, noEOF(err))
	}
	if n > 1<<40 {
		return 0, 0, fmt.Errorf("field %d claims %d bytes", field, n)
	}
	return field, int64(n), nil
}

// kind reads the kind in a TypeMeta, of n bytes.
func (r *wireReader) kind(n int64) (kind string, err error) {
	message := make([]byte, n)
	if _, err := io.ReadFull(r, message); err != nil {
		return "", noEOF(err)
	}
	err = eachField(message, func(field protowire.Number, v []byte) error {
		if field == kindField {
			kind = string(v)
		}
		return nil
	})
	return kind, err
}

// list reads the list message, of n bytes.
func (r *wireReader) list(n int64, meta *metav1.ListMeta, begin func(metav1.ListMeta), each func([]byte) error) error {
	for end := r.read + n; r.read < end; {
		field, size, err := r.next()
		if err != nil {
			return noEOF(err)
		}
		if size > maxItem {
			return fmt.Errorf("an item claims %d bytes, more than %d", size, maxItem)
		}
		r.item.Reset()
		if _, err := io.CopyN(&r.item, r, size); err != nil { // grows with what comes, not with what is claimed
			return noEOF(err)
		}
		item := r.item.Bytes()
		switch field {
		case metadataField:
			if err = meta.Unmarshal(item); err == nil {
				begin(*meta)
			}
		case itemsField:
			err = each(item)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// wireObject is a Secret or ConfigMap as it lies in the answer.
type wireObject struct {
	metadata []byte
	kind     []byte // Secret.type
}

// The fields of Secret and ConfigMap (k8s.io/api/core/v1/generated.proto).
const (
	objectMetadata   = 1
	objectData       = 2 // map of string to bytes (Secret) or string (ConfigMap)
	secretType       = 3
	configMapBinary  = 3 // map of string to bytes
	mapKey, mapValue = 1, 2
)

// The fields of metadata that are kept (k8s.io/apimachinery/pkg/apis/meta/v1/
// generated.proto).
const (
	metaName        = 1
	metaNamespace   = 3
	metaUID         = 5
	metaVersion     = 6
	metaCreated     = 8
	metaDeleted     = 9
	metaLabels      = 11 // map of string to string
	metaAnnotations = 12 // likewise
	metaOwners      = 13
)

// parseWireObject finds the parts of an item, and passes on its values, which
// are most of what is read: none of it is copied.
func parseWireObject(kind pki.Kind, item []byte, each func(key, value []byte) error) (wireObject, error) {
	var o wireObject
	err := eachField(item, func(field protowire.Number, v []byte) error {
		switch {
		case field == objectMetadata:
			o.metadata = v
		case field == objectData, field == configMapBinary && kind == "ConfigMap":
			key, value, err := mapEntry(v)
			if err != nil {
				return err
			}
			return each(key, value)
		case field == secretType && kind == "Secret":
			o.kind = v
		}
		return nil
	})
	return o, err
}

// wireNamespace is an object's namespace; empty where its metadata has none, or is malformed, which
// is found out where it is decoded.
func wireNamespace(item []byte) (namespace string) {
	_ = eachField(item, func(field protowire.Number, v []byte) error {
		if field != objectMetadata {
			return nil
		}
		return eachField(v, func(field protowire.Number, v []byte) error {
			if field == metaNamespace {
				namespace = string(v)
			}
			return nil
		})
	})
	return namespace
}

// mapEntry reads one entry of a map.
func mapEntry(message []byte) (key, value []byte, err error) {
	err = eachField(message, func(field protowire.Number, v []byte) error {
		switch field {
		case mapKey:
			key = v
		case mapValue:
			value = v
		}
		return nil
	})
	return key, value, err
}

// parseWireMeta reads of an object's metadata what objectOf keeps. Most of it,
// managedFields and what kubectl applied last, is never copied. word returns the
// one copy of a word that many objects share.
func parseWireMeta(message []byte, word func([]byte) string) (metav1.ObjectMeta, error) {
	var m metav1.ObjectMeta
	labels, annotations := metaReading{metaBound: labelBound()}, metaReading{metaBound: annotationBound()}
	err := eachField(message, func(field protowire.Number, v []byte) error {
		switch field {
		case metaName:
			m.Name = string(v)
		case metaNamespace:
			m.Namespace = word(v)
		case metaCreated:
			return m.CreationTimestamp.Unmarshal(v)
		case metaLabels, metaAnnotations:
			key, value, err := mapEntry(v)
			switch {
			case err != nil:
				return err
			case field == metaLabels:
				if labels.wants(key, value, len(m.Labels)) {
					m.Labels = with(m.Labels, word(key), value)
				}
			case speaksOfCertificates(string(key)) && annotations.wants(key, value, len(m.Annotations)):
				m.Annotations = with(m.Annotations, word(key), value)
			}
		}
		return nil
	})
	return m, err
}

func with(m map[string]string, key string, value []byte) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = string(value)
	return m
}

// eachField walks the fields of a message; those that are no bytes are skipped.
func eachField(message []byte, visit func(protowire.Number, []byte) error) error {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(field, kind, message); n < 0 {
				return protowire.ParseError(n)
			}
			message = message[n:]
			continue
		}
		v, n := protowire.ConsumeBytes(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := visit(field, v); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}
