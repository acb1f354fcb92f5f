package ui

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/printers"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
)

// ServedPrinter writes what servers present in one form.
type ServedPrinter struct {
	MinSeverity assess.Severity // as a Printer's
	// Problems: the form says why a server presented no chain.
	Problems bool
	Print    func(w io.Writer, d *report.ServedChains, atLeast assess.Severity) error
}

// ToServedPrinter is the printer for -o of what servers present.
func (f *OutputFlags) ToServedPrinter(ctx context.Context, called string) (ServedPrinter, error) {
	chains := func(print func(io.Writer, *report.Inventory, assess.Severity) error) ServedPrinter {
		return ServedPrinter{assess.Info, false, func(w io.Writer, d *report.ServedChains, atLeast assess.Severity) error {
			for i := range d.Servers {
				if err := print(w, &report.Inventory{Certificates: d.Servers[i].Certificates}, atLeast); err != nil {
					return err
				}
			}
			return nil
		}}
	}
	switch f.format {
	case "", "wide":
		p := servedScreen{called: called, wide: f.format == "wide", details: f.details || f.All || f.format == "wide", verbose: f.verbose, noHeaders: f.rows.NoHeaders}
		return ServedPrinter{assess.Warning, true, p.print}, nil
	case "json", "yaml":
		return ServedPrinter{assess.Info, true, func(w io.Writer, d *report.ServedChains, atLeast assess.Severity) error {
			return PrintDocument(w, f.format, d.AtLeast(atLeast))
		}}, nil
	case "text":
		return chains(printText), nil
	case "pem":
		return chains(printPEM), nil
	case "name":
		return ServedPrinter{}, fmt.Errorf("-o name prints objects of the cluster, and a server is none: -o json has its address and its chain")
	}
	own := slices.DeleteFunc(inspectForms(), func(form string) bool { return form == "name" })
	templated, err := f.rows.ToPrinter(ctx, f.format, RowsOf[report.ServedChain]("servers"), own...)
	return ServedPrinter{assess.Info, false, func(w io.Writer, d *report.ServedChains, atLeast assess.Severity) error {
		return templated(w, d.AtLeast(atLeast))
	}}, err
}

const (
	// fewCerts are the certificates of a chain that are listed without --details.
	fewCerts = 4
	// fewPlaces and fewClients keep one server on one screen.
	fewPlaces, fewClients = 2, 2
	// cellColumns is how wide a name in the list is without -o wide.
	cellColumns = 28
	// servedIndent is where texts begin, behind their labels.
	servedIndent = "             "
)

// servedScreen is what servers present, for people: one server on one screen.
type servedScreen struct {
	called                            string
	wide, details, verbose, noHeaders bool
}

func (p servedScreen) print(out io.Writer, d *report.ServedChains, atLeast assess.Severity) error {
	w := NewPage(out)
	header := HumanPrinter{}
	c := d.Cluster
	if c.Version != "" && !p.details { // on one line
		c.Kubernetes, c.Platform = "", ""
	}
	header.Cluster(w, c)
	for i := range d.Servers {
		if w.Len() > 0 {
			Printf(w, "\n")
		}
		p.server(w, d, &d.Servers[i], atLeast)
	}
	var gaps []report.Gap
	for _, g := range d.Gaps {
		if g.What != inspect.GapOfServer && g.What != inspect.GapOfCluster { // the server's own lines say it
			gaps = append(gaps, g)
		}
	}
	switch {
	case p.details || p.verbose:
		header.Gaps(w, &report.Inventory{Gaps: gaps})
	case len(gaps) > 0:
		Printf(w, "\n? UNKNOWN  %s of the cluster could not be read: --details\n", Count(len(gaps), "part"))
	}
	_, err := io.WriteString(out, CleanLines(w.String()))
	return err
}

// server writes what is known of one server.
func (p servedScreen) server(w *Page, d *report.ServedChains, c *report.ServedChain, atLeast assess.Severity) {
	about := []string{c.Address}
	if c.Remote != "" && c.Remote != c.Address {
		about = append(about, "answered by "+c.Remote)
	}
	if c.TLS != "" {
		about = append(about, c.TLS)
	}
	if c.WantsClient {
		about = append(about, "asks for a client certificate")
	}
	w.Line(strings.Join(about, "  "))
	if len(c.Certificates) == 0 {
		p.check(w, "chain", c.Check(report.ServedHandshake), "")
		return
	}
	p.chain(w, d.Now, c.Certificates)
	leaf := c.Certificates[0]
	p.text(w, "  names      ", cmp.Or(foreign.Texts(slices.Concat(leaf.Names.DNS, leaf.Names.IPs, leaf.Names.Others)), "none"))
	switch {
	case len(c.Stored) > 0:
		p.text(w, "  stored in  ", p.places(c.Stored, 1))
	case d.Cluster.Server != "":
		Printf(w, "  stored in  no place that was read\n")
	}
	if whole := c.Check(report.ServedHandshake); whole.Status != assess.Pass {
		p.check(w, "read", whole, "")
	}
	asked := "valid for " + c.Name
	if c.SNI == "" {
		asked += ", an IP address: no name was sent (SNI)"
	}
	p.check(w, "name", c.Check(report.ServedName), asked)
	p.check(w, "chain", c.Check(report.ServedInItself), "")
	places := inspect.Fold(c.TrustedBy)
	p.check(w, "trusted", c.Check(report.ServedTrust), "by CA bundles in "+Count(len(c.TrustedBy), "place"))
	if len(places) > 0 {
		few := places[:p.first(len(places), fewPlaces)]
		for _, at := range few {
			p.line(w, servedIndent+at)
		}
		if more := len(places) - len(few); more > 0 {
			Printf(w, "%s%s: --details\n", servedIndent, Count(more, "more line"))
		}
	}
	if clients := c.Check(report.ServedClients); clients != nil {
		p.check(w, "clients", clients, fmt.Sprintf("all %d known clients of this address trust it", len(c.Clients)))
		p.clients(w, c.Clients)
	}
	p.findings(w, d, c, atLeast)
}

// chain lists the certificates, the leaf first.
func (p servedScreen) chain(w *Page, now time.Time, certs []report.Cert) {
	var lines strings.Builder
	t := printers.GetNewTabWriter(&lines)
	if !p.noHeaders {
		columns := "  CERTIFICATE\tISSUER\tEXPIRES\tKEY"
		if p.wide {
			columns += "\tNOT AFTER\tSHA256"
		}
		Printf(t, "%s\n", columns)
	}
	few := certs[:p.first(len(certs), fewCerts)]
	for i := range few {
		c := &few[i]
		row := []string{"  " + p.name(c.Name()), p.name(issuerName(c)), RelativeTime(now, c.NotAfter), c.PublicKey}
		if p.wide {
			row = append(row, c.NotAfter.Format(time.RFC3339), c.Fingerprint.String())
		}
		Printf(t, "%s\n", strings.Join(row, "\t"))
	}
	_ = t.Flush() // the buffer does not fail
	for line := range strings.Lines(lines.String()) {
		p.line(w, strings.TrimSuffix(line, "\n"))
	}
	if more := len(certs) - len(few); more > 0 {
		Printf(w, "  %d more: --details\n", more)
	}
}

// name is the name of a certificate in a cell; what is cut of one stays between quotation marks.
func (p servedScreen) name(s string) string {
	text := foreign.Text(s)
	switch {
	case p.details || columnsIn(text) <= cellColumns:
		return text
	case text == s:
		return Middle(text, cellColumns)
	}
	return foreign.Quoted(Middle(Clean(s), cellColumns-2))
}

// check writes one judgement; passed is what it says where it has no reason.
func (p servedScreen) check(w *Page, label string, a *assess.Assessment, passed string) {
	lead := fmt.Sprintf("  %s %-8s", StatusMark(a.Status), label)
	text := cmp.Or(Clean(OneLine(a.Reason)), passed)
	if a.Status == assess.Unknown {
		text = "unknown: " + text
	}
	p.text(w, lead+" ", text)
	if a.Status == assess.Pass {
		return
	}
	rest := *a
	if rest.Reason = ""; !p.details {
		rest.Evidence = ""
	}
	Assessment(w, servedIndent, rest, nil)
}

// clients writes those that do not trust the server, or of which it is unknown: those of one edge
// together.
func (p servedScreen) clients(w *Page, claims []report.VerificationClaim) {
	type group struct {
		first     report.VerificationClaim
		of, nodes []string
	}
	var groups []group
	for _, status := range assess.Statuses() {
		for _, c := range claims {
			if c.Status != status || status == assess.Pass && !p.details {
				continue
			}
			i := slices.IndexFunc(groups, func(g group) bool {
				return g.first.ID == c.ID && g.first.Status == c.Status && (!p.details || g.first.Reason == c.Reason)
			})
			if i < 0 {
				i, groups = len(groups), append(groups, group{first: c})
			}
			if groups[i].of = append(groups[i].of, c.Subject); c.Node != "" {
				groups[i].nodes = append(groups[i].nodes, c.Node)
			}
		}
	}
	few := groups[:p.first(len(groups), fewClients)]
	for i, g := range few {
		lead := servedIndent + StatusMark(g.first.Status) + " "
		names := NamesThatFit(g.of, max(w.Columns()-len(lead)-len(g.first.Said())-2, 20))
		if p.details {
			names = strings.Join(g.of, ", ")
		}
		p.text(w, lead, Clean(OneLine(g.first.Said()))+": "+names)
		if p.details || i == 0 && g.first.Status.Wrong() {
			a := g.first.Assessment
			if !p.details {
				a = assess.Assessment{}
			}
			a.Remediation = g.first.RemediationFor(g.nodes)
			Assessment(w, servedIndent+"  ", a, func() {
				if lacks := g.first.Missing; lacks != nil {
					p.text(w, servedIndent+"  lacks  ", fmt.Sprintf("CA %s (%s)", p.name(pki.CommonName(lacks.Subject)), lacks.SHA256.Short()))
				}
			})
		}
	}
	if more := len(groups) - len(few); more > 0 {
		Printf(w, "%s%d more: --details\n", servedIndent, more)
	}
}

// findings writes what inspect's checks say of the chain, beside what was said of it already.
func (p servedScreen) findings(w *Page, d *report.ServedChains, c *report.ServedChain, atLeast assess.Severity) {
	for _, f := range d.AtLeast(atLeast).Findings {
		at := func(at pki.Location) bool { return at.Kind == inspect.KindServer && at.Name == c.Address }
		if f.ID == "serving-chain" || !slices.ContainsFunc(f.Locations, at) {
			continue
		}
		p.text(w, fmt.Sprintf("  %s %-8s ", Mark(f.Severity), strings.ToUpper(f.Severity.String())), f.ID+": "+Clean(OneLine(f.Reason)))
		if p.details {
			a := f.Assessment
			a.Reason = ""
			Assessment(w, servedIndent, a, nil)
		}
	}
}

// text writes a text in two lines at most; with --details, all of it.
func (p servedScreen) text(w *Page, lead, s string) {
	if p.details {
		Wrap(w, lead, s)
		return
	}
	w.Few(lead, s)
}

// line writes one line, cut at the width of the page; with --details, all of it.
func (p servedScreen) line(w *Page, s string) {
	if p.details {
		Printf(w, "%s\n", s)
		return
	}
	w.Line(s)
}

// places names some places, and how many more there are.
func (p servedScreen) places(at []pki.Location, most int) string {
	folded := inspect.Fold(at)
	if p.details || len(folded) <= most {
		return strings.Join(folded, ", ")
	}
	return fmt.Sprintf("%s +%d", strings.Join(folded[:most], ", "), len(folded)-most)
}

// first is how many of a list are written: with --details all, and one more where that is the last.
func (p servedScreen) first(n, most int) int {
	if p.details || n <= most+1 {
		return n
	}
	return most
}
