package collect

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

const (
	// maxAnswer bounds one answer of an API server, unpacked, in bytes: client-go reads it whole.
	maxAnswer = 256 << 20
	// maxListAnswer bounds a page of a list. 500 objects of a megabyte and a half are 750 MB.
	maxListAnswer = 1 << 30
)

// bound ends an answer that is too large. Connections that are upgraded, and watches, are streams.
func bound(r *http.Request, answer *http.Response) {
	query, limit := r.URL.Query(), int64(maxAnswer)
	if answer.StatusCode == http.StatusSwitchingProtocols || query.Get("watch") != "" {
		return
	}
	if query.Get("limit") != "" || strings.HasSuffix(r.URL.Path, "/log") {
		limit = maxListAnswer
	}
	answer.Body = &boundedBody{answer.Body, limit, limit}
}

type boundedBody struct {
	io.ReadCloser
	left, limit int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, fmt.Errorf("the API server's answer is larger than %d MiB: it was not read", b.limit>>20)
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return n, nil // what is too much, once more
	}
	return n, err
}
