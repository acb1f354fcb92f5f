package ui

import (
	"strings"
	"testing"
)

// TestANarrowTableSaysWhere: columns without values are left out, and the flexible one is cut in its
// middle; a terminal that is wide enough, a pipe and -o wide have all of it.
func TestANarrowTableSaysWhere(t *testing.T) {
	l := listing{
		headers: []string{"EXPIRES", "CERTIFICATE", "OWNER", "IN"},
		rows:    [][]string{{"in 20d", strings.Repeat("long-common-name-", 5), "-", "Secret/payments/partner-ca[tls.crt]"}},
	}
	l.shortHeaders, l.short, l.flexible = []string{"EXPIRES", "OWNER", "IN", "CERTIFICATE"}, [][]string{{"in 20d", "-", "payments/partner-ca", l.rows[0][1]}}, 3
	for name, c := range map[string]struct {
		p    HumanPrinter
		says []string
	}{
		"80":                   {HumanPrinter{width: 80}, []string{"EXPIRES   IN                    CERTIFICATE\n", "payments/partner-ca   long-common"}},
		"200":                  {HumanPrinter{width: 200}, []string{"OWNER", "Secret/payments/partner-ca[tls.crt]"}},
		"no":                   {HumanPrinter{}, []string{"OWNER", "Secret/payments/partner-ca[tls.crt]"}},
		"o wide":               {HumanPrinter{width: 80, wide: true}, []string{strings.Repeat("long-common-name-", 5) + "   -       Secret/payments/partner-ca[tls.crt]\n"}},
		"o wide on a terminal": {HumanPrinter{width: 80, wide: true, terminal: true}, []string{"\n" + strings.Repeat(" ", hang)}},
	} {
		w := &Page{columns: 80}
		c.p.list(w, l)
		for _, want := range c.says {
			if !strings.Contains(w.String(), want) {
				t.Errorf("%s: %q is not in\n%s", name, want, w)
			}
		}
		if c.p.width == 80 && !c.p.wide && widest(w.String()) > 80 {
			t.Errorf("too wide:\n%s", w)
		}
	}
}

// TestTheLastPartOfAPlaceStays: objects of one namespace, and files of one folder, differ there.
func TestTheLastPartOfAPlaceStays(t *testing.T) {
	for _, c := range []struct {
		place, want string
		columns     int
	}{
		{"shop/shop-tls", "shop/shop-tls", 38},
		{"worker-1:/var/lib/kubelet/pki/kubelet-client-current.pem", "worker-1:…/kubelet-client-current.pem", 38},
		{"worker-1:/var/lib/kubelet/pki/kubelet-client-current.pem", "worker-1:/kubel…ent.pem", 23},
		{"openshift-kube-apiserver/service-network-serving-certkey", "open…r/service-network-serving-certkey", 38},
		{"openshift-kube-apiserver/internal-loadbalancer-serving-certkey", "…/internal-loadbalancer-s…ving-certkey", 38},
		{"“a b/c”" + strings.Repeat("x", 40), "“a b/c”xxxxxx…xxxxxx", 20}, // a quotation is cut as any text
	} {
		if got := lastPart(c.place, c.columns); got != c.want || columnsIn(got) > c.columns {
			t.Errorf("%q in %d columns: %q, want %q", c.place, c.columns, got, c.want)
		}
	}
}
