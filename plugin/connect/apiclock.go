package connect

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect"
)

// apiClock learns what time it is at the API server, from the first answer.
type apiClock struct {
	mu      sync.Mutex
	reading inspect.Clock
}

// watch makes the clients of a configuration tell.
func (c *apiClock) watch(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return clockedTransport{c, next} })
}

// Reading returns what was told, and nothing where it was not.
func (c *apiClock) Reading() inspect.Clock {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reading
}

type clockedTransport struct {
	clock *apiClock
	next  http.RoundTripper
}

func (t clockedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := time.Now().UTC()
	answer, err := t.next.RoundTrip(r)
	if err != nil {
		return answer, err
	}
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		t.clock.mu.Lock()
		defer t.clock.mu.Unlock()
		if t.clock.reading.Sent.IsZero() {
			t.clock.reading = inspect.Clock{Sent: sent, Before: date.UTC(), After: date.UTC(), Received: time.Now().UTC()}
		}
	}
	return answer, nil
}

// WrappedRoundTripper lets client-go look through it.
func (t clockedTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// atServer is what time it is at the API server, by its Date; zero: it did not say.
func (c *apiClock) atServer() time.Time {
	if _, _, ok := c.Reading().Ahead(); !ok {
		return time.Time{}
	}
	return c.Now()
}

// Now is what time it is at the API server, as near as it is known: two machines whose
// clocks differ agree on it.
func (c *apiClock) Now() time.Time {
	now := collect.Now()
	if least, most, ok := c.Reading().Ahead(); ok {
		now = now.Add((least + most) / 2)
	}
	return now
}
