package collect

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// maxDictionary bounds the memory that unpacking xz takes: what xz -9 asks for.
// The library allocates whatever a file asks for, up to 4 GiB a block.
const maxDictionary = 64 << 20

// xzFrames passes on an xz file as it is, and looks at the frames in it: each block
// says how much memory it wants, and may not want more than maxDictionary. The
// format: https://tukaani.org/xz/xz-file-format.txt
type xzFrames struct {
	in         *bufio.Reader
	dictionary func(int64) error // is charged for each block's
	head       []byte            // read and looked at, to be handed on
	body       int64             // bytes that follow, to be handed on unseen
	next       func() error      // what follows these; nil: a stream
	check      int64             // bytes of the checksum behind each block
	block      int64             // bytes of the block so far
	blocks     uint64            // of the stream so far
}

func (x *xzFrames) Read(buf []byte) (int, error) {
	for len(x.head) == 0 && x.body == 0 {
		next := x.next
		if next == nil {
			next = x.stream
		}
		if err := next(); err != nil { // what was read of a head is not handed on
			x.head, x.next = nil, func() error { return err }
			return 0, err
		}
	}
	if len(x.head) > 0 {
		n := copy(buf, x.head)
		x.head = x.head[n:]
		return n, nil
	}
	n, err := x.in.Read(buf[:min(int64(len(buf)), x.body)])
	x.body -= int64(n)
	if errors.Is(err, io.EOF) && x.body > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// take reads n bytes more of a frame's head.
func (x *xzFrames) take(n int) ([]byte, error) {
	at := len(x.head)
	x.head = append(x.head, make([]byte, n)...)
	_, err := io.ReadFull(x.in, x.head[at:])
	if errors.Is(err, io.EOF) && (at > 0 || x.next != nil) { // only between streams is an end
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	return x.head[at:], nil
}

// stream reads the head of a stream, or four zeroes between two.
func (x *xzFrames) stream() error {
	x.head = nil
	head, err := x.take(4)
	if err != nil || binary.LittleEndian.Uint32(head) == 0 {
		return err
	}
	if head, err = x.take(8); err != nil {
		return err
	}
	// by kind: none, CRC32, CRC64, SHA-256, and room for others
	x.check = []int64{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}[head[3]&15]
	x.blocks, x.next = 0, x.blockOrIndex
	return nil
}

func (x *xzFrames) blockOrIndex() error {
	x.head = nil
	size, err := x.take(1)
	if err != nil {
		return err
	}
	if size[0] == 0 {
		return x.index()
	}
	head, err := x.take(int(size[0])*4 + 3)
	if err != nil {
		return err
	}
	at := 1
	for _, given := range []byte{0x40, 0x80} { // sizes, packed and not, that may be left out
		if head[0]&given != 0 {
			_, n := binary.Uvarint(head[at:])
			at += max(n, 0)
		}
	}
	if head[0]&0x3f != 0 || len(head) < at+3 || head[at] != 0x21 || head[at+1] != 1 {
		return errors.New("xz: packed with a filter other than LZMA2: unpack it first: xz -d")
	}
	bits := head[at+2]
	if dictionary := int64(2|bits&1) << (bits/2 + 11); bits > 40 || dictionary > maxDictionary {
		return fmt.Errorf("xz: needs more than %d MiB of memory to be unpacked: unpack it first: xz -d", maxDictionary>>20)
	} else if err := x.dictionary(dictionary); err != nil {
		return err
	}
	x.blocks++
	x.block, x.next = 0, x.chunk
	return nil
}

// chunk reads the head of one part of a block's content, or the block's end.
func (x *xzFrames) chunk() error {
	x.head = nil
	c, err := x.take(1)
	if err != nil {
		return err
	}
	switch control := c[0]; {
	case control == 0:
		x.body = (3-x.block%4)%4 + x.check // the zero counts, too
		x.next = x.blockOrIndex
		return nil
	case control < 0x80:
		size, err := x.take(2)
		if err != nil {
			return err
		}
		x.body = int64(binary.BigEndian.Uint16(size)) + 1
	default:
		sizes, err := x.take(4)
		if err != nil {
			return err
		}
		x.body = int64(binary.BigEndian.Uint16(sizes[2:])) + 1
		if control >= 0xc0 { // new properties
			x.body++
		}
	}
	x.block += int64(len(x.head)) + x.body
	return nil
}

// index reads a stream's end. Its numbers are compared by the library; here they
// are counted.
func (x *xzFrames) index() error {
	numbers, size := uint64(1), int64(1)
	for n := uint64(0); n < numbers; n++ {
		v, err := binary.ReadUvarint(counted{x, &size})
		if err != nil {
			return err
		}
		if n == 0 {
			if v != x.blocks {
				return fmt.Errorf("xz: %d blocks, and an index of %d", x.blocks, v)
			}
			numbers += 2 * v // of each, two sizes
		}
	}
	x.body = (4-size%4)%4 + 4 + 12 // filling, checksum, footer
	x.next = nil
	return nil
}

// counted reads a frame's head byte by byte.
type counted struct {
	x *xzFrames
	n *int64
}

func (c counted) ReadByte() (byte, error) {
	b, err := c.x.take(1)
	if err != nil {
		return 0, err
	}
	*c.n++
	return b[0], nil
}
