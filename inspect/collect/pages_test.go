package collect

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestListsEnd: a server decides with which token a list goes on.
func TestListsEnd(t *testing.T) {
	t.Parallel()
	pages := 0
	got := listPages(t.Context(), metav1.ListOptions{}, func(context.Context, metav1.ListOptions) (metav1.ListMeta, error) {
		if pages++; pages > 2 {
			t.Fatal("it goes on")
		}
		return metav1.ListMeta{Continue: "x"}, nil
	})
	if got.err == nil || !strings.Contains(got.err.Error(), "leads to itself") {
		t.Errorf("%d pages, %v", pages, got.err)
	}
}
