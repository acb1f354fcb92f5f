//go:build linux

package supervisor

import (
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"sync"
	"time"
)

// forward takes connections from a socket that was opened on the host before the
// lab's network existed, and dials to inside it: the only door between the two,
// and it leads to the API server.
func forward(socket *os.File, to string) error {
	listener, err := net.FileListener(socket)
	if err != nil {
		return fmt.Errorf("take over the host's listener: %w", err)
	}
	_ = socket.Close()
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				log.Printf("accept a connection from the host: %v", err)
				time.Sleep(100 * time.Millisecond)
				continue
			}
			go relay(c, to)
		}
	}()
	return nil
}

func relay(outer net.Conn, to string) {
	inner, err := net.DialTimeout("tcp", to, 5*time.Second)
	if err != nil {
		_ = outer.Close()
		return // the caller sees a closed connection, as from an API server that is away
	}
	join(outer, inner)
}

// join passes on what each of two connections says to the other, until both ends.
func join(outer, inner net.Conn) {
	defer func() { _ = outer.Close() }()
	defer func() { _ = inner.Close() }()
	var both sync.WaitGroup
	both.Go(func() { copyHalf(inner, outer) })
	both.Go(func() { copyHalf(outer, inner) })
	both.Wait()
}

// copyHalf passes on the end of one direction, too, and leaves the other open.
func copyHalf(to, from net.Conn) {
	half, ok := to.(interface{ CloseWrite() error })
	if _, err := io.Copy(to, from); err != nil || !ok {
		_ = from.Close()
		_ = to.Close()
		return
	}
	_ = half.CloseWrite()
}
