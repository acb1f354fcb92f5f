package collect

import (
	"encoding/json"
	"fmt"
)

func (r *objectReader) proxy(raw []byte) error {
	var o struct {
		Spec struct {
			TrustedCA objectName `json:"trustedCA"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return err
	}
	r.refers("spec.trustedCA.name", bundleAt(o.Spec.TrustedCA))
	return nil
}

func (r *objectReader) apiServer(raw []byte) error {
	var o struct {
		Spec struct {
			ClientCA     objectName `json:"clientCA"`
			ServingCerts struct {
				NamedCertificates []struct {
					ServingCertificate objectName `json:"servingCertificate"`
				} `json:"namedCertificates"`
			} `json:"servingCerts"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return err
	}
	for i, named := range o.Spec.ServingCerts.NamedCertificates {
		r.refers(fmt.Sprintf("spec.servingCerts.namedCertificates[%d].servingCertificate.name", i), secretAt(userConfig, named.ServingCertificate))
	}
	r.refers("spec.clientCA.name", bundleAt(o.Spec.ClientCA))
	return nil
}

// image reads which CAs the cluster trusts as registries: the keys of that ConfigMap are
// registries, with ".." for ":".
func (r *objectReader) image(raw []byte) error {
	var o struct {
		Spec struct {
			AdditionalTrustedCA objectName `json:"additionalTrustedCA"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return err
	}
	to := bundleAt(o.Spec.AdditionalTrustedCA)
	to.Key = ""
	r.refers("spec.additionalTrustedCA.name", to)
	return nil
}

// oauth reads by which CAs identity providers are verified, and what is presented to them: each
// provider has its settings under a name of its own kind. One whose CA is not there is
// not used (openshift/api config/v1/types_oauth.go @ 71270106f276).
func (r *objectReader) oauth(raw []byte) error {
	var o struct {
		Spec struct {
			IdentityProviders []map[string]json.RawMessage `json:"identityProviders"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return err
	}
	for i, provider := range o.Spec.IdentityProviders {
		for _, kind := range []string{"basicAuth", "github", "gitlab", "keystone", "ldap", "openID", "requestHeader"} {
			if len(provider[kind]) == 0 {
				continue
			}
			var settings struct {
				CA            objectName `json:"ca"`
				TLSClientCert objectName `json:"tlsClientCert"`
			}
			if err := json.Unmarshal(provider[kind], &settings); err != nil {
				return err
			}
			field := fmt.Sprintf("spec.identityProviders[%d].%s.", i, kind)
			ca := bundleAt(settings.CA)
			ca.Key = "ca.crt"
			r.refers(field+"ca.name", ca)
			r.refers(field+"tlsClientCert.name", secretAt(userConfig, settings.TLSClientCert))
		}
	}
	return nil
}
