package gather

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// draft is a content while it is being parsed.
type draft struct {
	size   int64
	begun  map[string]bool // "content", "more public", "more binary"
	blocks []block
	gaps   []block // what stands beside blocks on their lines
	keys   []Key
	notes  []Note
	text   bool // the one segment is the whole text, redacted
	public pki.Fingerprint
}

// block is a piece of the file, in the order of the file.
type block struct {
	offset, length int64
	data           []byte // nil for what stayed on the node
	kind, trouble  string // of what stayed there
	form           string // what its lines are to readers of PEM
}

func (p *parser) draft(id pki.Fingerprint) *draft {
	d := p.drafts[id]
	if d == nil {
		d = &draft{size: p.sizes[id], begun: map[string]bool{}}
		p.drafts[id] = d
	}
	return d
}

// begin starts the lines about one content.
func (p *parser) begin(word, rest string) error {
	sum, topic, _ := strings.Cut(rest, " ")
	var id pki.Fingerprint
	if err := id.UnmarshalText([]byte(sum)); err != nil {
		return err
	}
	if _, ok := p.sizes[id]; !ok {
		return errors.New("content of no file")
	}
	d := p.draft(id)
	if word = strings.TrimSpace(word + " " + topic); d.begun[word] {
		return errors.New("the same content twice")
	}
	d.begun[word] = true
	p.now = d
	return nil
}

func (d *draft) line(word, rest string) error {
	part := strings.SplitN(rest, " ", 5)
	switch word {
	case "note":
		text, err := unescape(strings.TrimPrefix(rest[len(part[0]):], " "))
		if part[0] == "redacted" {
			d.text = true
			return err
		}
		d.notes = append(d.notes, Note{part[0], said(text)})
		return err
	case "spki":
		return d.public.UnmarshalText([]byte(rest))
	}
	if len(part) < 3 {
		return fmt.Errorf("%q lacks fields", word)
	}
	b, err := d.place(part[0], part[1])
	if err != nil {
		return err
	}
	switch {
	case word == "gap":
		text, err := field(part[2])
		if err != nil || len(part) > 3 || len(text) > maxMarks || strings.Trim(text, marks) != "" {
			return errors.Join(fmt.Errorf("what is beside a block is more than marks: %.40q", part[2:]), err)
		}
		b.data = []byte(text)
		d.gaps = append(d.gaps, b)
		return nil
	case word == "seg":
		text, err := unescape(strings.Join(part[2:], " "))
		if err != nil {
			return err
		}
		if int64(len(text)) != b.length {
			return fmt.Errorf("segment of %d bytes says that it has %d", len(text), b.length)
		}
		b.data = []byte(text)
	case len(part) < 5:
		return fmt.Errorf("%q lacks fields", word)
	case word == "key":
		kind, err := field(part[4])
		if err != nil {
			return err
		}
		b.form = part[3]
		d.keys = append(d.keys, Key{Type: pki.StandardLabel(kind), Offset: b.offset, Length: b.length, Encrypted: part[2] == "1"})
		b.kind = kind
	default:
		b.form = part[2]
		if b.kind, err = field(part[3]); err != nil {
			return err
		}
		trouble, err := unescape(part[4])
		if err != nil {
			return err
		}
		b.trouble = said(trouble)
	}
	if _, known := b.standIn(); b.data == nil && !known {
		return fmt.Errorf("a block that stayed on the node has the form %.20q", b.form)
	}
	d.blocks = append(d.blocks, b)
	return nil
}

// marks are what the program sends of the text beside a block, 8 of them at each end.
const (
	marks    = " \t\r\"'`\ufeffx"
	maxMarks = 2*8*len("\ufeff") + 1
)

func (d *draft) place(offset, length string) (block, error) {
	o, err1 := strconv.ParseInt(offset, 10, 64)
	n, err2 := strconv.ParseInt(length, 10, 64)
	if err1 != nil || err2 != nil || o < 0 || n < 0 || o > d.size || n > d.size-o {
		return block{}, fmt.Errorf("bytes %.20s to +%.20s are not in a file of %d", offset, length, d.size)
	}
	return block{offset: o, length: n}, nil
}

func (d *draft) finish(sc *pki.Scanner) (*Content, error) {
	if err := arrange(d.blocks); err != nil {
		return nil, err
	}
	if err := arrange(d.pieces()); err != nil {
		return nil, err
	}
	c := &Content{Keys: d.keys, Notes: d.notes}
	if d.text {
		if len(d.blocks) == 1 && d.blocks[0].length == d.size {
			c.Text = d.blocks[0].data
		} else if len(d.blocks) > 0 { // omitted for want of room
			return nil, errors.New("a redacted text that is not all of the file")
		}
		c.Found = sc.Scan(c.Text)
		return c, nil
	}
	if len(c.Keys) > 0 && !c.Keys[0].Encrypted {
		c.Keys[0].Public = d.public
	}
	c.Found = d.found(sc, c.Keys)
	return c, nil
}

// arrange sorts pieces by their place.
func arrange(pieces []block) error {
	slices.SortStableFunc(pieces, func(a, b block) int { return cmp.Compare(a.offset, b.offset) })
	for i := 1; i < len(pieces); i++ {
		if before := pieces[i-1]; before.offset+before.length > pieces[i].offset {
			return errors.New("segments overlap")
		}
	}
	return nil
}

// found scans the pieces that came, and adds what is known of those that
// stayed.
func (d *draft) found(sc *pki.Scanner, keys []Key) []pki.Found {
	found := slices.Clone(sc.Scan(d.layout(false)))
	extra := pki.Content{}
	stayed := false
	for i, b := range d.blocks {
		stayed = stayed || b.data == nil
		if b.trouble != "" && speaksOfCertificates(b.kind) {
			extra.Bad = append(extra.Bad, pki.BadBlock{Index: i, Type: pki.StandardLabel(b.kind), Reason: b.trouble})
		}
	}
	for _, k := range keys {
		extra.Keys = append(extra.Keys, pki.Key{SPKI: k.Public, Algorithm: algorithm(k), Encrypted: k.Encrypted})
	}
	if !stayed {
		return found
	}
	whole := func(f pki.Found) bool { return f.Field == "" }
	i := slices.IndexFunc(found, whole)
	if i < 0 && extra.Empty() {
		return found
	}
	if i < 0 {
		return append([]pki.Found{{Content: &extra}}, found...)
	}
	// what the scanner returns is shared
	merged := *found[i].Content
	merged.Keys = slices.Concat(merged.Keys, extra.Keys)
	merged.Bad = slices.Concat(merged.Bad, extra.Bad)
	if len(merged.Certs) > 0 {
		read := sc.Scan(d.layout(true))
		if j := slices.IndexFunc(read, whole); j >= 0 {
			merged.Skipped = read[j].Content.Skipped
		}
	}
	found[i].Content = &merged
	return found
}

func algorithm(k Key) string {
	switch k.Type {
	case "RSA PRIVATE KEY":
		return "RSA"
	case "EC PRIVATE KEY":
		return "ECDSA"
	}
	return k.Type
}

func speaksOfCertificates(kind string) bool {
	return strings.Contains(kind, "CERTIFICATE") || strings.Contains(kind, "CRL") || kind == "PKCS7" || kind == "CMS"
}

// pieces are the PEM blocks and what stands beside them, in the order of the file.
func (d *draft) pieces() []block {
	pieces := slices.Concat(slices.DeleteFunc(slices.Clone(d.blocks), block.isBase64), d.gaps)
	slices.SortStableFunc(pieces, func(a, b block) int { return cmp.Compare(a.offset, b.offset) })
	return pieces
}

// isBase64 reports whether it is a piece of base64 in the text, or all of a file of DER.
func (b block) isBase64() bool {
	return b.data != nil && !bytes.HasPrefix(b.data, []byte("-----"))
}

// layout puts the pieces where they stand in the file, as far as readers care: what is
// beside them on their line. Of whole lines between them one is left, and a short one. What
// stayed on the node is a comment, or a block that readers stop at as they do at it.
func (d *draft) layout(standIns bool) []byte {
	var b bytes.Buffer
	end := int64(0)
	for _, piece := range d.pieces() {
		between := piece.offset - end
		if between > 0 && b.Len() > 0 {
			b.WriteByte('\n')
			between--
		}
		if between == 1 && b.Len() == 0 {
			b.WriteByte('\n')
		} else if between > 0 {
			b.WriteString("#\n")
		}
		if text, known := piece.standIn(); piece.data == nil && known && standIns {
			b.WriteString(text)
		} else if piece.data == nil {
			b.WriteByte('#')
		}
		b.Write(piece.data)
		end = piece.offset + piece.length
	}
	if b.Len() > 0 && end < d.size {
		b.WriteByte('\n')
	}
	for _, piece := range d.blocks {
		if piece.isBase64() {
			if piece.offset > 0 || b.Len() > 0 {
				b.WriteString("\n#\n")
			}
			b.Write(piece.data)
		}
	}
	return b.Bytes()
}

// standIn is what takes the place of a block that stayed on the node: readers stop at it,
// or go on behind it, as they do at the block. It is false for a form that is unknown.
func (b block) standIn() (text string, known bool) {
	label := pki.StandardLabel(b.kind)
	if b.form == "sound" || strings.HasPrefix(label, "unknown") {
		label = "X" // which readers pass over where it can be decoded
	}
	begin, end := "-----BEGIN "+label+"-----", "-----END "+label+"-----"
	switch b.form {
	case "sound", "misfit": // what is decoded is what the label says, or is not
		return begin + "\nAAAA\n" + end, true
	case "headers":
		return begin + "\nName: value\n\nAAAA\n" + end, true
	case "loose": // Go decodes it, and OpenSSL may not
		return begin + "\nAA AA\n\n" + end, true
	case "damaged":
		return begin + "\n!\n" + end, true
	case "empty":
		return begin + "\n" + end, true
	case "open":
		return begin + "\nAAAA", true
	case "glued": // END does not begin a line
		return begin + "\nAAAA" + end, true
	case "oneline": // to OpenSSL, all of it is one BEGIN line
		return begin + "x" + end, true
	case "tail": // bytes that OpenSSL may trim end its BEGIN line
		return begin + "\xff\nAAAA\n" + end, true
	case "inline": // more is on its BEGIN line
		return begin + " x\nAAAA\n" + end, true
	}
	return "", false
}

// fields splits a record into its fields.
func fields(rest string) ([]string, error) {
	if rest == "" {
		return nil, nil
	}
	f := strings.Split(rest, " ")
	for i := range f {
		text, err := field(f[i])
		if err != nil {
			return nil, err
		}
		f[i] = text
	}
	return f, nil
}

// field undoes what the program does to one field: "-" is nothing.
func field(s string) (string, error) {
	if s == "-" {
		return "", nil
	}
	return unescape(s)
}

// unescape undoes %XX.
func unescape(s string) (string, error) {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return "", errors.New("a byte that should have been escaped")
		}
	}
	if strings.IndexByte(s, '%') < 0 {
		return strings.Clone(s), nil // a path must not keep the whole answer in memory
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			out = append(out, s[i])
			continue
		}
		if i+3 > len(s) {
			return "", errors.New("an escape without its digits")
		}
		v, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
		if err != nil {
			return "", errors.New("an escape without its digits")
		}
		out = append(out, byte(v))
		i += 2
	}
	return string(out), nil
}
