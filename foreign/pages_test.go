package foreign

import (
	"strconv"
	"strings"
	"testing"
)

func TestPagesEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		token func(page int) string
		pages int
		says  string
	}{
		"one page":       {func(int) string { return "" }, 1, ""},
		"three pages":    {func(n int) string { return map[int]string{1: "a", 2: "b"}[n] }, 3, ""},
		"the same token": {func(int) string { return "x" }, 2, "page 2 leads to itself"},
		"always another": {strconv.Itoa, maxPages, "does not end: 10000 pages"},
	} {
		var p Pages
		pages, more, err := 0, true, error(nil)
		for more && err == nil && pages <= maxPages {
			pages++
			more, err = p.Next(c.token(pages))
		}
		if pages != c.pages || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %d pages, %v", name, pages, err)
		}
	}
}
