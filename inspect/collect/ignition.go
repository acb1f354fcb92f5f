package collect

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// ignition is the part of an Ignition config that can hold certificates, of its
// versions 2 and 3 (https://coreos.github.io/ignition/specs/). URLs that are no
// data URLs are what machines fetch when they boot; nothing is fetched here.
type ignition struct {
	Ignition struct {
		Config struct { // other configs: mostly of a server, which machines ask
			Merge   []ignitionSource `json:"merge"`
			Append  []ignitionSource `json:"append"` // version 2
			Replace ignitionSource   `json:"replace"`
		} `json:"config"`
		Security struct {
			TLS struct {
				CertificateAuthorities []ignitionSource `json:"certificateAuthorities"`
			} `json:"tls"`
		} `json:"security"`
	} `json:"ignition"`
	Storage struct {
		Files []struct {
			Path     string         `json:"path"`
			Contents ignitionSource `json:"contents"`
			Append   ignitionAppend `json:"append"`
		} `json:"files"`
	} `json:"storage"`
	Systemd struct {
		Units []struct {
			Name     string           `json:"name"`
			Contents string           `json:"contents"`
			Dropins  []ignitionDropin `json:"dropins"`
		} `json:"units"`
	} `json:"systemd"`
}

type (
	ignitionSource struct {
		Source string `json:"source"` // a URL; gzip is seen by its content
	}
	ignitionDropin struct {
		Name     string `json:"name"`
		Contents string `json:"contents"`
	}
	ignitionAppend []ignitionSource
)

// UnmarshalJSON reads a list; in version 2, append is a flag instead.
func (a *ignitionAppend) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '[' {
		return nil
	}
	return json.Unmarshal(data, (*[]ignitionSource)(a))
}

// machineConfig reads the files of a MachineConfig, each under its own path, and
// what else may have certificates in it.
func (r *objectReader) machineConfig(raw []byte) error {
	var o struct {
		Spec struct {
			Config ignition `json:"config"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return err
	}
	config := &o.Spec.Config
	for i, ca := range config.Ignition.Security.TLS.CertificateAuthorities {
		r.source(fmt.Sprintf("spec.config.ignition.security.tls.certificateAuthorities[%d].source", i), ca)
	}
	others := &config.Ignition.Config
	for i, other := range others.Merge {
		r.source(fmt.Sprintf("spec.config.ignition.config.merge[%d].source", i), other)
	}
	for i, other := range others.Append {
		r.source(fmt.Sprintf("spec.config.ignition.config.append[%d].source", i), other)
	}
	r.source("spec.config.ignition.config.replace.source", others.Replace)
	seen := map[string]int{}
	for _, f := range config.Storage.Files {
		field := "spec.config.storage.files[" + f.Path + "]"
		if seen[f.Path]++; seen[f.Path] > 1 { // version 2 adds to a file by naming it again
			field += fmt.Sprintf("(%d)", seen[f.Path])
		}
		r.source(field, f.Contents)
		for i, more := range f.Append {
			r.source(fmt.Sprintf("%s.append[%d]", field, i), more)
		}
	}
	for _, u := range config.Systemd.Units {
		r.scan("spec.config.systemd.units["+u.Name+"]", u.Contents)
		for _, d := range u.Dropins {
			r.scan("spec.config.systemd.units["+u.Name+"].dropins["+d.Name+"]", d.Contents)
		}
	}
	return nil
}

// source reads a data URL. One that says that it is base64 and is not is counted:
// what it held is unknown.
func (r *objectReader) source(field string, s ignitionSource) {
	if head, data, ok := strings.Cut(s.Source, ","); ok && strings.HasPrefix(head, "data:") && strings.HasSuffix(head, ";base64") {
		data, err := url.PathUnescape(data)
		if err == nil {
			_, err = base64.StdEncoding.DecodeString(data)
		}
		if err != nil {
			r.odd++
			return
		}
	}
	r.scan(field, s.Source)
}
