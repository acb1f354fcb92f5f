package remediate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/trust"
)

// aboutServer reports whether a claim is about what a server shows, and not about who
// verifies that.
func aboutServer(c trust.Claim) bool {
	return slices.ContainsFunc(catalog.Servers(), func(s catalog.Server) bool { return s.ID == c.ID })
}

// servedStage asks whether servers show, in handshakes, what the signer's newest
// certificate has signed.
func (c Chain) servedStage(ca *pki.Cert, leaf Stage) Stage {
	if leaf.Reached != catalog.Yes {
		return Stage{Name: StageServed, Reached: leaf.Reached, Text: "it follows " + StageLeaf, Next: leaf.Next}
	}
	s := Stage{Name: StageServed, Reached: catalog.Yes}
	all, does := 0, 0
	var old, unknown []string
	for _, at := range c.leaves() {
		if len(heldAt(c.Facts, at)) == 0 {
			continue // it is not there, else the stage before was not reached
		}
		claims := c.shownBy(at)
		if !slices.ContainsFunc(claims, func(x trust.Claim) bool { return x.Server != "" }) {
			unknown = append(unknown, c.unseen(at))
		}
		for _, claim := range claims {
			switch {
			case claim.Server == "" || claim.Edge.Shown != at && len(claim.Chain) > 0: // one of an administrator's own is shown
			case len(claim.Chain) == 0:
				all++
				unknown = append(unknown, claim.Why)
			case signed(claim.Chain[0], ca):
				all++
				does++
			default:
				all++
				old = append(old, fmt.Sprintf("%s shows %s for %s, made %s", claim.Server, pki.CommonName(claim.Chain[0].Subject), at.Name, clock(claim.Chain[0].NotBefore)))
			}
		}
	}
	switch {
	case len(old) > 0:
		s.Reached, s.Text = catalog.No, fmt.Sprintf("%d of %d handshakes were shown a certificate of it; not: %s", does, all, few(old))
		s.Next = "a server reads it within minutes; certrot verify names the one that does not, and what mends it"
	case len(unknown) > 0:
		s.Reached, s.Text = catalog.Unknown, "not known: "+few(unknown)
		if does > 0 {
			s.Text = fmt.Sprintf("%d of %d handshakes were shown a certificate of it; %s", does, all, s.Text)
		}
		s.Next = "handshakes are made from nodes that can be read: --nodes all, with --via ssh where exec does not lead there. Of a client's certificate: kubectl logs of a pod on each node, kubectl get clusteroperators"
	case all == 0:
		s.Text = "certificates of an administrator's own are shown in its place"
	default:
		s.Text = fmt.Sprintf("all %d handshakes were shown a certificate of it", all)
	}
	return s
}

// shownBy are the claims about handshakes in which a place's certificate was to be shown.
func (c Chain) shownBy(at catalog.Ref) []trust.Claim {
	instead := []catalog.Ref{at}
	for _, row := range catalog.Servers() {
		for _, s := range row.Shows {
			if s.From == at {
				instead = append(instead, s.Instead...)
			}
		}
	}
	var out []trust.Claim
	for _, claim := range c.Claims {
		// Who verifies may be shown it in the same handshake: those are counted once.
		if aboutServer(claim) && slices.Contains(instead, claim.Edge.Shown) {
			out = append(out, claim)
		}
	}
	return out
}

// unseen says why no handshake tells what is shown of a place.
func (c Chain) unseen(at catalog.Ref) string {
	for _, row := range catalog.Servers() {
		if slices.ContainsFunc(row.Shows, func(s catalog.Show) bool { return s.From == at }) {
			return at.Name + " (no handshake was made)"
		}
	}
	if held := heldAt(c.Facts, at); len(held) > 0 && len(held[0].Content.Certs) > 0 && held[0].Content.Certs[0].IsCA {
		return at.Name + " (nobody shows it: it signs, and what it signs is not followed)"
	}
	return at.Name + " (no server shows it: a client does, which no handshake tells)"
}

// edgesStage asks whether all holds that is known of who shows and who verifies what the
// signer signs.
func (c Chain) edgesStage(leaf Stage) Stage {
	if leaf.Reached != catalog.Yes {
		return Stage{Name: StageEdges, Reached: leaf.Reached, Text: "they are judged after " + StageLeaf, Next: leaf.Next}
	}
	s := Stage{Name: StageEdges, Reached: catalog.Yes, Next: "certrot verify --nodes all names each, and what mends it"}
	var broken, unknown []string
	claims := c.claims()
	for _, claim := range claims {
		text := strings.TrimSpace(fmt.Sprintf("%s, of %s (%s)", claim.Claim, whoOf(claim), claim.Why))
		switch claim.Status {
		case trust.Holds:
		case trust.Unknown:
			unknown = append(unknown, text)
		default:
			broken = append(broken, text)
		}
	}
	switch {
	case len(broken) > 0:
		s.Reached, s.Text = catalog.No, fmt.Sprintf("%d of %d claims do not hold: %s", len(broken), len(claims), few(broken))
	case len(unknown) > 0:
		s.Reached, s.Text = catalog.Unknown, fmt.Sprintf("%d of %d claims are not known: %s", len(unknown), len(claims), few(unknown))
	case len(claims) == 0:
		s.Reached, s.Text = catalog.Unknown, "who verifies what it signs was not asked, or is not known"
	default:
		s.Next, s.Text = "", fmt.Sprintf("all %d claims about what it signs hold", len(claims))
	}
	return s
}
