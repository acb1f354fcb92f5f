package catalog

// Annotations and labels that library-go's certificate rotation puts on what
// it manages (openshift/library-go pkg/operator/certrotation/annotations.go
// and label.go @ 93ac9206a). Decisions to rotate are taken from these, never
// from the certificate itself, so the two can disagree. Signers that an
// installer made carry the annotations, but no label until their first
// rotation: select by annotation.
const (
	AnnotationNotBefore = "auth.openshift.io/certificate-not-before"
	AnnotationNotAfter  = "auth.openshift.io/certificate-not-after"
	AnnotationIssuer    = "auth.openshift.io/certificate-issuer"

	AnnotationRefreshPeriod = "certificates.openshift.io/refresh-period"

	AnnotationOwningComponent = "openshift.io/owning-component"

	// LabelManagedType is a label; its values are ManagedSigner and the like.
	LabelManagedType = "auth.openshift.io/managed-certificate-type"
)

// The values of LabelManagedType.
const (
	ManagedSigner   = "signer"
	ManagedCABundle = "ca-bundle"
	ManagedTarget   = "target"
)

// Annotations that other owners put on certificates.
const (
	// AnnotationServiceName is on secrets that service-ca made for a Service, or the alpha one
	// alone where the Service asked by its own alpha annotation.
	AnnotationServiceName      = "service.beta.openshift.io/originating-service-name"
	AnnotationServiceNameAlpha = "service.alpha.openshift.io/originating-service-name"
	// AnnotationInjectCABundle asks service-ca to put its CA into the object. The alpha one does so
	// for ConfigMaps and APIServices alone.
	AnnotationInjectCABundle      = "service.beta.openshift.io/inject-cabundle"
	AnnotationInjectCABundleAlpha = "service.alpha.openshift.io/inject-cabundle"
	// annotationOLM is on secrets that OLM made for an operator.
	annotationOLM = "olmcahash"
	// AnnotationCertManager names the Certificate of cert-manager.
	AnnotationCertManager = "cert-manager.io/certificate-name"
	// AnnotationInjectCAFrom and AnnotationInjectCAFromSecret ask cert-manager to put a CA into caBundle.
	AnnotationInjectCAFrom       = "cert-manager.io/inject-ca-from"
	AnnotationInjectCAFromSecret = "cert-manager.io/inject-ca-from-secret"

	// AnnotationRemediatedNode names the node that a SelfNodeRemediation reboots, whose own name may be
	// generated.
	AnnotationRemediatedNode = "remediation.medik8s.io/node-name"

	// labelInjectTrustedCA asks cluster-network-operator to put the cluster's
	// trusted CAs into the ConfigMap.
	labelInjectTrustedCA = "config.openshift.io/inject-trusted-cabundle"
)
