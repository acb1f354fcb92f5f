package collect

import (
	"context"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestListsEnd: a server decides with which token a list goes on.
func TestListsEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		token func(page int) string
		pages int
		says  string
	}{
		"three pages":    {func(n int) string { return map[int]string{1: "a", 2: "b"}[n] }, 3, ""},
		"the same token": {func(int) string { return "x" }, 2, "page 2 leads to itself"},
		"always another": {strconv.Itoa, maxPages, "does not end: 10000 pages"},
	} {
		pages := 0
		got := listPages(t.Context(), metav1.ListOptions{}, func(context.Context, metav1.ListOptions) (metav1.ListMeta, error) {
			pages++
			if pages > maxPages {
				t.Fatalf("%s: it goes on", name)
			}
			return metav1.ListMeta{Continue: c.token(pages)}, nil
		})
		if pages != c.pages || (got.err == nil) != (c.says == "") || got.err != nil && !strings.Contains(got.err.Error(), c.says) {
			t.Errorf("%s: %d pages, %v", name, pages, got.err)
		}
	}
}
