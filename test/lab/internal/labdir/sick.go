package labdir

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/kubectl-certrot/kubectl-certrot/test/lab/internal/kubeapi"
)

// Sick is nil for a lab that is whole, else says what is wrong with it.
func (d Dir) Sick(ctx context.Context, state State) error {
	if !d.Alive(state.Supervisor) {
		return errors.New("its supervisor is gone")
	}
	if !state.Ready {
		return errors.New("`up` did not finish")
	}
	if s, found, err := d.Status(); err != nil || !found || !s.Ready {
		return errors.New("its supervisor does not say that it is ready")
	}
	for _, f := range []string{d.Kubeconfig(), d.InnerKubeconfig(), d.RunScript(), d.Bin("kubectl")} {
		if _, err := os.Stat(f); err != nil {
			return fmt.Errorf("a file of it is missing: %w", err)
		}
	}
	api, err := kubeapi.New(d.PKI(), net.JoinHostPort("127.0.0.1", strconv.Itoa(state.Port)))
	if err != nil {
		return err
	}
	if _, err := api.Get(ctx, "/readyz"); err != nil {
		return fmt.Errorf("its API server does not answer: %w", err)
	}
	return nil
}
