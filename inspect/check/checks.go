package check

// Checks returns every check, what brings clusters down first.
func Checks() []Check {
	return []Check{
		{
			ID:    "api-ca-delivered",
			Title: "kubelets are given the CA that signs the API's certificate",
			Doc: `After the load balancer's signer was rotated, each kubelet needs its CA in both kubeconfigs (/etc/kubernetes/kubeconfig and /var/lib/kubelet/kubeconfig). Up to 4.15 nothing delivers it: kubelets work until they reconnect and then fail with "x509: certificate signed by unknown authority". From 4.16 the machine-config-daemon writes both files.
Compare the certificate-authority-data of both files on every node with the ConfigMap openshift-config-managed/kube-apiserver-server-ca: inspect nodes does, and fix-api-int repairs it (docs/fix-api-int.md).`,
			Run: apiCADelivered,
		},
		{
			ID:    "certificate-expired",
			Title: "no certificate in use has expired",
			Doc: `Checks each certificate that a component presents (a serving or client certificate, a signer), and CA bundles in which every CA has expired.
Every client that verifies an expired certificate refuses it. Renew it at its source. Where an operator renews it automatically, find out why it did not.`,
			Run: expired,
		},
		{
			ID:    "certificate-not-yet-valid",
			Title: "every certificate in use is valid already",
			Doc:   `A certificate whose notBefore lies ahead is refused until then. Mostly a clock is wrong: that of the machine that signed it, or of the one that verifies it. Compare the clocks first.`,
			Run:   notYetValid,
		},
		{
			ID:    "certificate-expiring",
			Title: "no certificate that must be renewed by hand expires soon",
			Doc: `Without --expiring-within: a warning for each certificate that nothing renews automatically, and for the last CA of a bundle, which expires within 30 days and has less than a fifth of its life left. Where automatic renewal is unknown: a tenth.
With --expiring-within=TIME: each certificate and each CA that expires within that time, whatever share of its life is left. A warning where nothing renews it automatically, or that is unknown. Info, which is below the default of --fail-on, where it is renewed automatically and not overdue, or its expiry breaks nothing (a CA whose bundle has another one, a copy that is not in use).
Critical below a week and a tenth of its life. An overdue renewal is a finding of rotation-overdue only.`,
			Run: expiring,
		},
		{
			ID:    "rotation-overdue",
			Title: "every certificate that renews itself was renewed in time",
			Doc: `OpenShift's operators renew a certificate at its refresh period or at 80 % of its validity, whichever comes first. service-ca, cert-manager and the kubelet have rules of their own. The catalog and the certificate's annotations say which rule applies.
A certificate past its time, plus a tenth in which library-go may wait for the trust of a new signer to spread, means that its owner is not working. It causes an outage on the day it expires.`,
			Run: overdue,
		},
		{
			ID:    "rotation-annotations",
			Title: "rotation annotations say what the certificate says",
			Doc:   `library-go decides about rotation by the annotations auth.openshift.io/certificate-not-before, -not-after and -issuer alone, never by the certificate. Where they disagree, it rotates too late, or at once. Where one is missing, the next sync (about a minute) regenerates the certificate.`,
			Run:   annotations,
		},
		{
			ID:    "node-file-current",
			Title: "files on nodes hold what the objects that they come from hold",
			Doc: `Compares files on nodes with the objects of which they are copies: kubelet-ca.crt with the CAs of the API's clients, the CA in both kubelet kubeconfigs with the API server's CAs, and the certificates and CA bundles that the control plane's static pods share between revisions (etcd's too) with their Secrets and ConfigMaps. The catalog lists the files. A file may contain more (an old CA is no harm); what it lacks is the finding.
A kubeconfig that lacks the CA that signs api-int's certificate is critical: the kubelet works until it reconnects, and then the node has no heartbeat.`,
			Run: fileCurrent,
		},
		{
			ID:    "api-trusted",
			Title: "kubelets trust the certificate that the API server presents",
			Doc: `For each node from which a TLS handshake with the server in its kubeconfigs was made: does the CA in each file verify the presented chain, for that name, at the node's time? Judged as the kubelet judges, never by names.
Only commands that need it make handshakes (fix-api-int does); without one, there is no finding. Where verifying more of a worker's files than its kubelet's costs too much, a warning says that it is unknown.`,
			Run: apiTrusted,
		},
		{
			ID:    "kubelet-loaded",
			Title: "kubelets have read their kubeconfig since it was changed",
			Doc:   `A kubelet loads its kubeconfig at startup, and never again. Until it is restarted, it trusts what the file contained then. Compares the file's time with the time since when the kubelet says that it runs, on the node's own clock. A later change of mode, owner or label, or a copy with the old time, is info. Where it does not say (kubeadm's unit is of another type), ten seconds after its start are allowed: a kubelet without a file writes it while it starts.`,
			Run:   kubeletLoaded,
		},
		{
			ID:    "kubelet-runs",
			Title: "kubelets run",
			Doc:   `Reads the state of kubelet.service from systemd on the node. A kubelet without a usable certificate, or that does not trust the API server, exits and is restarted again and again ("auto-restart").`,
			Run:   kubeletRuns,
		},
		{
			ID:    "kubelet-current",
			Title: "the link to the certificate in use leads to one",
			Doc:   `The kubelet, multus and ovnkube-node keep their certificates as NAME-DATE.pem, and the link NAME-current.pem names the one in use. With a dangling link the next start has no certificate. Without the link and a heartbeat, the kubelet has none and waits for the approval of its request. Files that the link does not name are old; they are listed, and are no finding.`,
			Run:   currentLinks,
		},
		{
			ID:    "kubelet-rotates",
			Title: "kubelets renew their certificates",
			Doc:   `Checks rotateCertificates in the kubelet's configuration. The kubelet requests a new certificate at 70 to 90 % of the old one's validity; rotation-overdue checks whether it did.`,
			Run:   kubeletRotates,
		},
		{
			ID:    "kubeconfig-sound",
			Title: "kubeconfigs on nodes name one cluster and its CA",
			Doc:   `Checks each kubeconfig on a node: can it be read, does it name a cluster, does certificate-authority-data contain a CA. A line that a script put into the wrong place is found here. More than one cluster is a warning: the machine-config-daemon reads and updates the first one, whatever the current context is.`,
			Run:   kubeconfigSound,
		},
		{
			ID:    "file-private",
			Title: "keys and tokens on nodes are root's alone",
			Doc:   `Checks mode and owner of files with private keys, tokens or passwords: root's, and nothing for others. Of all files with certificates: only the owner may change them, since a user who can change the CAs that a node trusts can act as any user.`,
			Run:   filePrivate,
		},
		{
			ID:    "token-in-logs",
			Title: "no log holds what a machine joins the cluster with",
			Doc: `The machine-config-daemon of 4.16 and later prints the whole of /etc/kubernetes/kubeconfig whenever it writes a new CA into it. That includes the token of service account openshift-machine-config-operator/node-bootstrapper, which never expires, or, on control plane nodes of the first installation, the key of a certificate for the same account that is valid for 10 years. 4.21 and later do not, nor do 4.20.9, 4.19.22, 4.18.32 and later releases of these minors; 4.16 and 4.17 still did in August 2026. Anyone who has one of them can request a node's certificate; the machine-approver, or a user who approves requests, decides whether it is issued. More people read logs than Secrets: cluster-readers, and users of log stores and must-gathers.
Searches the daemon's container logs, on nodes that are read and in must-gathers, and reports the files, the number of such lines, and when they were written; the lines stay where they are. The journal and log stores are not searched.
What to do, in this order, while no machine is being added. Upgrade to a release that does not print it, or the new token is printed, too. Delete the Secret openshift-machine-config-operator/node-bootstrapper-token: from then on the old token is refused, the machine-config-operator creates the Secret again, and within minutes the machine-config-server serves the new token to new machines. Nodes continue with their certificates, but keep the old token: put the new one into users[0].user.token of /etc/kubernetes/kubeconfig on each, or a node whose certificate expires (one that was off for long) can't rejoin without help. Then delete the machine-config-daemon pods of these logs, one at a time and not during an update: their logs are deleted with them. Remove the lines from log stores and must-gathers.
A printed key is of use until its CA is removed from the ConfigMap openshift-config-managed/kubelet-bootstrap-kubeconfig. Without that CA the API server refuses the bootstrap kubeconfig of the first control plane nodes: give them the token first.
Where the Secret was read and is younger than all such lines of a log, the token in it was replaced (info).`,
			Run: tokenInLogs,
		},
		{
			ID:    "clock-skew",
			Title: "clocks agree",
			Doc: `Compares the clock of each node that was read, and of this machine, with the API server's: a warning from 30 s on, critical from 5 min on. By a clock that is behind, new certificates are not valid yet; by one that is ahead, good ones have expired. Kubelets' certificates are backdated by 5 min, so a cluster tolerates that much.
Clocks are read in whole seconds, and the time of the answer is taken into account: the difference is at least the one reported.`,
			Run: clockSkew,
		},
		{
			ID:    "certificate-outlives-ca",
			Title: "certificates expire before the CA that issued them",
			Doc: `A certificate is refused once its CA expires, whatever its own dates say. Checks each certificate in use whose CA was read, unless it is rotated before. A CA that was renewed with its key counts with its latest certificate. Of more than 20 CAs of one name, those of the platform and of the certificate's own namespace are tried; where none of them issued it, or trying them costs too much, a finding says that it is unknown.
A warning when the CA expires within --expiring-within (30 d), else info.`,
			Run: outlivesIssuer,
		},
		{
			ID:    "serving-names",
			Title: "serving certificates name their hosts",
			Doc:   `A serving certificate without subject alternative names is refused: clients ignore the common name (Go since 1.15). Checks certificates of places that serve, those that may do nothing but serve, and those in Secrets of type kubernetes.io/tls that may serve and have a host in their common name. Have it issued with the names and addresses that clients use.`,
			Run:   servingNames,
		},
		{
			ID:    "serving-usage",
			Title: "serving certificates allow to serve",
			Doc: `A certificate with extended key usages but no "server auth" is refused when a server presents it ("certificate specifies an incompatible key usage"); without any, each usage is allowed. Checks certificates of places that serve: the catalog's, the Secrets that a Route, IngressController, APIServer or Ingress (OpenShift's and Kubernetes' own) names, a Route's own. Not a client's certificate in a Secret that none of these names.
Have it issued with server auth.`,
			Run: servingUsage,
		},
		{
			ID:    "serving-chain",
			Title: "the chain of each serving certificate is its own",
			Doc: `A server presents its certificate and what follows it in the value. Clients that trust only a root need each intermediate there. After a change of the CA's intermediate, or with another certificate's chain, they refuse it ("certificate signed by unknown authority"), while clients that have the intermediate do not. A certificate that follows its CA is not presented at all: servers load the first one and refuse its key.
Checks certificates followed by others, in the places of serving-usage and in Secrets of type kubernetes.io/tls; not a Route's own, whose chain may be in caCertificate. A warning where a chain contains what did not issue its certificate and lacks what did, unless that is a root, or in a CA bundle of the cluster. Info where only the order is wrong, since most clients sort.
Write the value again: the certificate first, then the intermediates up to the root.`,
			Run: servingChain,
		},
		{
			ID:    "secret-ca-verifies",
			Title: "the ca.crt of each Secret verifies the certificate beside it",
			Doc: `In a Secret with ca.crt and tls.crt the CA mostly issued the certificate (cert-manager writes both). Clients with this ca.crt refuse the server when it does not verify tls.crt. Chains in tls.crt count; an expired certificate is a finding of other checks. Skipped are certificates for clients only, since ca.crt is then the server's CA, and a ca.crt that the catalog knows to be something else.
Some put a CA there that verifies clients (ingress-nginx's auth-tls-secret): info, where that CA issued a client's certificate that was read. Find out which of both is outdated, and have the issuer write the Secret again.`,
			Run: secretCA,
		},
		{
			ID:    "strong-keys",
			Title: "keys and signatures are strong enough for today's readers",
			Doc: `Finds RSA keys below 2048 bits, P-224 and DSA, and signatures with MD5 or SHA-1. Go refuses SHA-1 signatures (since 1.18), DSA, and RSA below 1024 bits. OpenSSL refuses RSA below 2048 bits by today's default policies, and so does FIPS.
A warning where the certificate is presented. In CA bundles only the key counts (info): a trust anchor's signature is not verified, nor is that of a self-signed certificate.`,
			Run: strength,
		},
		{
			ID:    "signer-type",
			Title: "signers are in Secrets of type kubernetes.io/tls",
			Doc: `Old installers and operators made the signers' Secrets with the type "SecretTypeTLS". A Secret's type can't be changed: operators of 4.15.0 to 4.15.9 and of OKD 4.15 delete such a Secret and create it again as soon as its annotations change, in two processes at once. Each may make a signer of its own, which rotates api-int's CA unintentionally. Up to 4.14 only a rotation does that; OpenShift from 4.15.10 on never does.
A warning where it happens unintentionally, else info: know it before an upgrade.`,
			Run: signerType,
		},
		{
			ID:    "key-matches",
			Title: "every certificate has the key beside it",
			Doc: `Compares the public key of the first certificate with the private key beside it (tls.crt and tls.key, x.crt and x.key, or one file of both). With another key a server fails to start, or its TLS handshakes fail.
Only the public half of the key is read, and only its sha256 kept.`,
			Run: keyMismatch,
		},
		{
			ID:    "key-in-place",
			Title: "private keys are only where they belong",
			Doc: `A private key in a ConfigMap, in a CA bundle, in a MachineConfig or in a webhook's caBundle is readable by far more people than a Secret. Treat it as compromised: remove it there, and replace the certificate with one of a new key. The key of a Route's own certificate belongs there.
Names each certificate that was read whose public key is the key's. Of a private key only the sha256 of its public half is kept; for an encrypted key, or one of a kind that is not read, that is unknown.`,
			Run: keyInPlace,
		},
		{
			ID:    "pem-readable",
			Title: "everything that claims to be a certificate can be read",
			Doc: `Finds truncated or mistyped PEM, two blocks without a newline between them, bytes that are no certificate. Go and OpenSSL skip or refuse such blocks silently, so a CA that seems to be in a bundle is not. Write the value again from its source.
In CA bundles and in tls.crt also PEM that Go skips: a block that is indented or quoted, follows a byte order mark, is labelled TRUSTED CERTIFICATE or X509 CERTIFICATE, or has headers.
A Secret of type kubernetes.io/tls without a certificate in tls.crt, and an empty CA bundle of OpenShift's own, are findings too. A Secret younger than an hour may still be waiting for its certificate (info).`,
			Run: unreadable,
		},
		{
			ID:    "crl-current",
			Title: "every revocation list is the current one",
			Doc: `A revocation list (CRL) is valid until its nextUpdate. A server that uses an expired one refuses all certificates of that CA, also those never revoked: an IngressController with clientTLS then refuses every client ("certificate revocation list expired").
Put the CA's current list there. Where it is fetched (the router does, from the distribution points in the CA's certificate), find out why that fails. A list without nextUpdate never expires.`,
			Run: crlEnded,
		},
		{
			ID:    "bundle-expired-ca",
			Title: "CA bundles hold only CAs that are valid",
			Doc:   `An expired CA beside valid ones breaks nothing, but hides what is really trusted. Operators drop it at the next rotation; remove it from a bundle that you keep.`,
			Run:   bundleExpired,
		},
		{
			ID:    "bundle-duplicate",
			Title: "CA bundles hold each CA once",
			Doc:   `The same certificate twice in one bundle is harmless, and a sign that something appends without looking. Such a bundle reaches the size limit of its object one day.`,
			Run:   bundleDuplicate,
		},
		{
			ID:    "bundle-not-ca",
			Title: "CA bundles hold CAs",
			Doc:   `A certificate without CA:TRUE in a CA bundle issues nothing. Go accepts exactly that certificate when a server presents it; OpenSSL mostly does not. It can be intended: OpenShift publishes its router's chain as default-ingress-cert, and with it in kube-root-ca.crt.`,
			Run:   bundleNotCA,
		},
		{
			ID:    "bundle-complete",
			Title: "every bundle that is made of others holds all of their CAs",
			Doc: `OpenShift builds bundles out of bundles and copies them: kube-apiserver-server-ca from four CAs, serviceaccount-ca and kube-root-ca.crt from that, and so on (docs/catalog.md). While a copy lacks a CA of its source, its readers refuse what that CA signed.
In the first hour after a rotation this is normal (info). If it stays, the operator that copies is not working, or is blocked: for kube-root-ca.crt by a revision of kube-controller-manager that can't roll out. Never edit the copy: its owner restores it within seconds.`,
			Run: bundleComplete,
		},
		{
			ID:    "copies-agree",
			Title: "the CA copies in every namespace are the same",
			Doc:   `kube-root-ca.crt and openshift-service-ca.crt are published into every namespace. With a different copy, pods of that namespace refuse the API server or services. The publisher overwrites changes at once. So it does not run, was refused, or the copy is immutable (immutable: true): whoever may write ConfigMaps in the namespace can delete it and make another one, which the publisher can't change. Such a copy harms that namespace's pods only; rotate reports it and does not wait for it.`,
			Run:   copiesAgree,
		},
		{
			ID:    "ca-names",
			Title: "CAs with different keys have different names",
			Doc: `Readers look up a certificate's CA by name. Where two CAs of one name have different keys, a reader with the other one refuses the certificate, with errors about a wrong signature ("crypto/rsa: verification error" while trying to verify a candidate authority). It happens where a CA is rotated under its old name, as by cert-manager.
Where one bundle has two of them and one has no subject key identifier, readers can't choose: OpenSSL takes the first of that name (warning). Else it is info: CAs of clusters that run on this one often have the same name, and no reader has both.`,
			Run: caNames,
		},
		{
			ID:    "issuer-seen",
			Title: "the CA of every certificate in use is in a CA bundle",
			Doc: `Follows each certificate in use over the CAs that were read to one in a CA bundle of the cluster. Without one, its clients trust it by other means (their system's CAs, a file of their own), or do not trust it.
Where there are more than 20 CAs of one name, or trying them costs too much, a finding says that it is unknown. Judged only where all Secrets and ConfigMaps were read; info, since its clients are unknown.`,
			Run: issuerSeen,
		},
		{
			ID:    "reference-resolves",
			Title: "the certificates that the cluster's configuration names are there",
			Doc: `Proxy (trustedCA), APIServer (namedCertificates, clientCA), Image (additionalTrustedCA), OAuth (the CAs of identity providers, and client certificates for them), Ingress (componentRoutes) and IngressController (defaultCertificate, clientTLS) name Secrets in openshift-config or openshift-ingress and ConfigMaps in openshift-config. A Route (externalCertificate) and an Ingress of Kubernetes' own (spec.tls) name a Secret beside them. One that is absent, or has no certificate under the key that is read, has no effect: a server keeps its certificate or does not start (critical), the trusted CAs stay as they were (warning), an identity provider without its CA is not used.
Create the object, or correct the name. Where it may not be read, or a must-gather lacks that namespace, there is no finding.`,
			Run: referenceResolves,
		},
		{
			ID:    "mco-reports-agree",
			Title: "the machine-config-controller reports the certificates that it delivers",
			Doc: `From 4.14, a ControllerConfig's status.controllerCertificates and a MachineConfigPool's status.certExpirys list the certificates in the ControllerConfig's data. Compares both with that data, by common name and times of validity.
A difference means that the machine-config-controller is behind or does not run; then nodes do not get new CAs either: kubectl -n openshift-machine-config-operator logs deploy/machine-config-controller. In the first hour of a new certificate this is normal (info). A pool follows later than the ControllerConfig; its surplus entries are info.`,
			Run: reportsAgree,
		},
		{
			ID:    "called-trusted",
			Title: "the API server trusts the webhooks and API servers that it calls",
			Doc: `Webhooks, conversions of CRDs and APIServices that call a Service have its CA in their caBundle. Compares that with the certificates for the Service's name in its namespace: one of them must verify, for SERVICE.NAMESPACE.svc. Otherwise the API server refuses the call: objects can't be written, or an API is gone.
Which certificate a Service's port presents is known only where service-ca keeps both the certificate and the CA bundle (critical). Otherwise it is likely (warning): look at what the port presents first. Without a certificate of that name there is no finding; with more than 20, or where verifying them costs too much, a warning says that it is unknown. Without a caBundle the system's CAs are trusted, none of which signs for a Service.`,
			Run: calledTrusted,
		},
		{
			ID:    "csr-answered",
			Title: "certificate requests are answered",
			Doc: `A CertificateSigningRequest that stays pending, or approved without a certificate, leaves a kubelet or a component without its next certificate. Look at requester and names before you approve: oc get csr; oc describe csr NAME; oc adm certificate approve NAME.
A kubelet asks again every 15 minutes, with another key: approve its newest request; earlier ones are removed automatically.`,
			Run: csrAnswered,
		},
	}
}
