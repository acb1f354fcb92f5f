package e2e

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// inventory is what docs/output.md promises, as far as the tests ask.
type inventory struct {
	APIVersion, Kind string
	Taken, Now       time.Time
	Cluster          struct{ Server, Context, Version, Kubernetes string }
	Reads            []read
	Certificates     []certificate
	Bundles          []struct {
		Certificates []string
		Bad          int
		PrivateKeys  int
		Locations    []string
	}
	Requests []request
	Nodes    []struct{ Name, Via, Ready, Kubelet string }
	Findings []finding
	Gaps     []gap
}

type read struct {
	What, Where, Note string
	Objects           int
	Skipped           bool
}

type certificate struct {
	facts
	Locations []string
}

// facts are what a certificate itself says.
type facts struct {
	SHA256, Subject, Issuer, Serial   string
	NotBefore, NotAfter               time.Time
	IsCA, SelfSigned                  bool
	DNSNames, IPAddresses, OtherNames []string
	Usages                            []string
	PublicKey, SignatureAlgorithm     string
	SubjectKeyID, AuthorityKeyID      string
}

type request struct {
	Name, Signer, Requester, Condition, Subject string
	DNSNames, IPAddresses                       []string
}

type finding struct {
	ID, Severity            string
	Reason, Evidence        string
	Remediation             struct{ Text string }
	Locations, Certificates []string
}

type gap struct {
	What, Where, Reason string
	Remediation         struct{ Text string }
}

// sightings are the sha256 of the certificates at each place. A place is a
// value of an object as the API has it, "Secret/NAMESPACE/NAME[KEY]" or
// "KIND/NAME#FIELD", without escapes and without the field inside a document.
type sightings map[string][]string

func (s sightings) add(place, sha string) {
	if !slices.Contains(s[place], sha) {
		s[place] = append(s[place], sha)
		slices.Sort(s[place])
	}
}

// in keeps the places that begin with one of the prefixes.
func (s sightings) in(prefixes ...string) sightings {
	kept := sightings{}
	for place, shas := range s {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(place, p) }) {
			kept[place] = shas
		}
	}
	return kept
}

// distinct are all the certificates, each once.
func (s sightings) distinct() []string {
	var all []string
	for _, shas := range s {
		all = append(all, shas...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// sightings is what the inventory says of the cluster: the user's kubeconfig
// and other files left out.
func (inv *inventory) sightings(t *testing.T) sightings {
	t.Helper()
	all := sightings{}
	for _, c := range inv.Certificates {
		for _, at := range c.Locations {
			if !strings.HasPrefix(at, "file:") {
				all.add(placeOf(t, at), c.SHA256)
			}
		}
	}
	return all
}

// placeOf reads a location as docs/output.md describes it.
func placeOf(t *testing.T, location string) string {
	t.Helper()
	head, field, _ := strings.Cut(location, "#")
	if strings.HasSuffix(head, "]") {
		field = "" // inside the document that a key holds
	}
	field, _, _ = strings.Cut(field, "#") // or that a file of a MachineConfig holds
	text := head
	if field != "" {
		text += "#" + field
	}
	plain, err := url.PathUnescape(text)
	if err != nil {
		t.Errorf("location %q: %v", location, err)
	}
	return plain
}

// at finds the findings of a check about places that begin with a prefix.
func (inv *inventory) at(check, prefix string) []finding {
	var found []finding
	for _, f := range inv.Findings {
		if f.ID == check && slices.ContainsFunc(f.Locations, func(at string) bool { return strings.HasPrefix(at, prefix) }) {
			found = append(found, f)
		}
	}
	return found
}
