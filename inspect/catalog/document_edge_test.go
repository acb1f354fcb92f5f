package catalog

import "strings"

// edgeCells are what docs/catalog.md says of an edge: where its trust anchors are, what is presented, for
// which name, and where it is.
func edgeCells(e Edge) (trust, presented, name, holds string) {
	name = string(e.ServerName)
	if e.ServerName == NameClient {
		name = "a client's"
	}
	trust, presented = "`"+e.Trust.String()+"`", "`"+e.Presented.String()+"`"
	if e.Selector != (ObjectSelector{}) {
		presented = "`" + rowName(Place{Ref: e.Presented, Selector: e.Selector}) + "`"
	}
	switch e.Verify {
	case VerifyAggregate, VerifyNodeCopies:
		trust, presented, name = "each of them", string(e.Verify), "none"
	case VerifyServiceCertificate:
		trust, presented, name = "`"+e.Trust.String()+"`, the CA bundle beside the Service's name", string(e.Verify), "the Service's"
	}
	if e.Verify == VerifyDelivered {
		trust, presented, name = "in `"+e.Trust.String()+"`", "all of `"+e.Presented.String()+"`", "none"
	}
	if e.CustomPresented != (Ref{}) {
		presented += ", or `" + e.CustomPresented.String() + "` where it is there"
	}
	holds = e.In.String()
	if e.OnlyIfExists != (Ref{}) {
		holds += ", where there is `" + e.OnlyIfExists.String() + "`"
	}
	if e.OnlyWithout != (Ref{}) {
		holds += ", where there is no `" + e.OnlyWithout.String() + "`"
	}
	if e.OnNodesWith != "" {
		trust += " of nodes with `" + e.OnNodesWith + "`"
	}
	if len(e.Platforms) > 0 {
		holds += ", on " + strings.Join(e.Platforms, ", ") + " where the cluster keeps the addresses of its API itself"
	}
	if e.Beside != "" {
		holds += "; " + e.Beside
	}
	return trust, presented, name, holds
}
