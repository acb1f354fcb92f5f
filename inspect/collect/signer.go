package collect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
)

// Signer is from when to when a certificate that signs is valid.
type Signer struct {
	NotBefore, NotAfter time.Time
	Asked               time.Time // what time it is at the API server; zero: unknown
}

// Signer reads the certificate of a Secret. Of its key nothing is decoded.
func (c *Cluster) Signer(ctx context.Context, of catalog.Ref) (Signer, error) {
	var object struct {
		Data struct {
			Certificate []byte `json:"tls.crt"`
		} `json:"data"`
	}
	if err := c.getJSON(ctx, "/api/v1/namespaces/"+of.Namespace+"/secrets/"+of.Name, &object); err != nil {
		return Signer{}, fmt.Errorf("read %s: %w", of, err)
	}
	for _, f := range c.Scanner.Within(ctx).Scan(object.Data.Certificate) {
		for _, cert := range f.Content.Certs {
			return Signer{NotBefore: cert.NotBefore, NotAfter: cert.NotAfter, Asked: c.asked()}, nil
		}
	}
	if ctx.Err() != nil {
		return Signer{}, fmt.Errorf("read %s: %w", of, context.Cause(ctx))
	}
	return Signer{}, fmt.Errorf("read %s: %w", of, errors.New("it holds no certificate"))
}
