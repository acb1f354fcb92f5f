package collect

import (
	"encoding/json"
	"fmt"
)

func (r *objectReader) route(raw []byte) error {
	var o struct {
		Spec struct {
			TLS struct {
				Certificate              string `json:"certificate"`
				Key                      string `json:"key"`
				CACertificate            string `json:"caCertificate"`
				DestinationCACertificate string `json:"destinationCACertificate"`
				// A Secret beside the Route (openshift/api route/v1/types.go @ 71270106f276).
				ExternalCertificate objectName `json:"externalCertificate"`
			} `json:"tls"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return err
	}
	tls := &o.Spec.TLS
	r.certificates("spec.tls.certificate", []byte(tls.Certificate))
	r.scan("spec.tls.key", tls.Key)
	r.certificates("spec.tls.caCertificate", []byte(tls.CACertificate))
	r.certificates("spec.tls.destinationCACertificate", []byte(tls.DestinationCACertificate))
	r.refers("spec.tls.externalCertificate.name", secretAt(r.obj.Namespace, tls.ExternalCertificate))
	return nil
}

// registryBundle is an entry of a ControllerConfig's lists: file is a registry,
// with ".." for ":".
type registryBundle struct {
	File string `json:"file"`
	Data string `json:"data"`
}

// ingress reads what an administrator has the console's, the OAuth server's and others'
// own host names served with (openshift/api config/v1/types_ingress.go @ 71270106f276).
func (r *objectReader) ingress(raw []byte) error {
	var o struct {
		Spec struct {
			ComponentRoutes []struct {
				ServingCertKeyPairSecret objectName `json:"servingCertKeyPairSecret"`
			} `json:"componentRoutes"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return err
	}
	for i, route := range o.Spec.ComponentRoutes {
		r.refers(fmt.Sprintf("spec.componentRoutes[%d].servingCertKeyPairSecret.name", i), secretAt(userConfig, route.ServingCertKeyPairSecret))
	}
	return nil
}

func (r *objectReader) kubernetesIngress(raw []byte) error {
	var o struct {
		Spec struct {
			TLS []struct {
				SecretName string `json:"secretName"`
			} `json:"tls"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return err
	}
	var secrets []string
	for _, tls := range o.Spec.TLS {
		secrets = append(secrets, tls.SecretName)
	}
	r.servedByIngress(secrets)
	return nil
}

func (r *objectReader) ingressController(raw []byte) error {
	var o struct {
		Spec struct {
			DefaultCertificate objectName `json:"defaultCertificate"`
			ClientTLS          struct {
				ClientCA objectName `json:"clientCA"`
			} `json:"clientTLS"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return err
	}
	r.refers("spec.defaultCertificate.name", secretAt(routers, o.Spec.DefaultCertificate))
	r.refers("spec.clientTLS.clientCA.name", bundleAt(o.Spec.ClientTLS.ClientCA))
	return nil
}
