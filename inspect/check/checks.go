package check

// Checks returns every check, what brings clusters down first.
func Checks() []Check {
	return []Check{
		{
			ID:    "api-ca-delivered",
			Title: "kubelets are given the CA that signs the API's certificate",
			Doc: `When the load balancer's signer was replaced, each kubelet needs its CA in both of its kubeconfigs (/etc/kubernetes/kubeconfig and /var/lib/kubelet/kubeconfig). Up to 4.15 nothing brings it there: kubelets work on until they reconnect and then fail with "x509: certificate signed by unknown authority". From 4.16 the machine-config-daemon writes both files.
Compare the certificate-authority-data of both files on every node with the ConfigMap openshift-config-managed/kube-apiserver-server-ca: inspect nodes does, and fix-api-int repairs it (docs/fix-api-int.md).`,
			Run: apiCADelivered,
		},
		{
			ID:    "certificate-expired",
			Title: "no certificate in use has expired",
			Doc: `Looks at each certificate that a component presents (a serving or client certificate, a signer) and at CA bundles in which every CA has expired.
An expired certificate is refused by everyone who checks it. Renew it at its source; where an operator renews it automatically, find out why it did not.`,
			Run: expired,
		},
		{
			ID:    "certificate-not-yet-valid",
			Title: "every certificate in use is valid already",
			Doc: `A certificate whose notBefore lies ahead is refused until then. Mostly a clock is wrong: the one of the machine that signed it, or the one of the machine that reads it.
Compare the clocks before anything else.`,
			Run: notYetValid,
		},
		{
			ID:    "certificate-expiring",
			Title: "no certificate that must be renewed by hand expires soon",
			Doc: `Without --expiring-within: a warning for each certificate that nothing renews automatically, and for the last CA of a bundle, which expires within 30 days and has less than a fifth of its life left. Where it is unknown whether a certificate is renewed automatically, a tenth.
With --expiring-within=TIME: each certificate and each CA that expires within that time is a finding, whatever share of its life is left. A warning where nothing renews it automatically, or that is unknown; info, which is below the default of --fail-on, where it is renewed automatically and not overdue, or where it breaks nothing when it expires (a CA whose bundle holds another one, a copy that is not in use).
Critical instead of a warning below a week and a tenth of its life. What is overdue for its renewal is a finding of rotation-overdue, and not of this check.`,
			Run: expiring,
		},
		{
			ID:    "rotation-overdue",
			Title: "every certificate that renews itself was renewed in time",
			Doc: `OpenShift's operators renew a certificate at its refresh period or at 80 % of its validity, whichever comes first; service-ca, cert-manager and the kubelet have rules of their own. The catalog and the certificate's annotations say which rule applies.
A certificate that is past its time (plus a tenth, in which library-go may wait for the trust of a new signer to spread) means that its owner is not working, and an outage on the day it expires.`,
			Run: overdue,
		},
		{
			ID:    "rotation-annotations",
			Title: "rotation annotations say what the certificate says",
			Doc:   `library-go decides about rotation from the annotations auth.openshift.io/certificate-not-before, -not-after and -issuer alone, never from the certificate. Where they disagree, it rotates too late, or at once; where one is missing, the next sync (about a minute) regenerates the certificate.`,
			Run:   annotations,
		},
		{
			ID:    "node-file-current",
			Title: "files on nodes hold what the objects that they come from hold",
			Doc: `Compares files on nodes with the objects of which they are copies: kubelet-ca.crt with the CAs of the API's clients, the CA in both kubeconfigs of the kubelet with the CAs of the API server, and the certificates and CA bundles that the control plane's static pods share between revisions (etcd's too) with their Secrets and ConfigMaps. Which files that are is in the catalog. A file may hold more (an old CA is no harm); what it lacks is the finding.
A kubeconfig that lacks the CA that signs api-int's certificate is critical: the kubelet works on until it reconnects, and then the node has no heartbeat.`,
			Run: fileCurrent,
		},
		{
			ID:    "api-trusted",
			Title: "kubelets trust the certificate that the API server presents",
			Doc: `For each node from which a TLS handshake with the server in its kubeconfigs was made: does the CA in each of these files verify the chain that was presented, for that name, at the node's time? It is judged as the kubelet judges, never by names.
Only commands that ask for it make handshakes (fix-api-int does); where none was made, nothing is said.`,
			Run: apiTrusted,
		},
		{
			ID:    "kubelet-loaded",
			Title: "kubelets have read their kubeconfig since it was changed",
			Doc: `A kubelet reads its kubeconfig when it starts, and never again: a file that was changed later is not what it believes. Compares the file's time with the time since when the kubelet says that it runs, on the node's own clock. Where it does not say (kubeadm's unit is of another type), ten seconds after its start are allowed: a kubelet that had none writes the file while it starts.
Until it is restarted, such a kubelet trusts what the file said before.`,
			Run: kubeletLoaded,
		},
		{
			ID:    "kubelet-runs",
			Title: "kubelets run",
			Doc:   `kubelet.service as systemd on the node sees it. A kubelet that has no usable certificate, or does not trust the API server, exits and is started again and again ("auto-restart").`,
			Run:   kubeletRuns,
		},
		{
			ID:    "kubelet-current",
			Title: "the link to the certificate in use leads to one",
			Doc: `The kubelet, multus and ovnkube-node keep their certificates as NAME-DATE.pem and name the one in use by the link NAME-current.pem. A link that leads nowhere means that the next start has no certificate.
Files that the link does not name are old ones; they are listed, and do not alarm.`,
			Run: currentLinks,
		},
		{
			ID:    "kubelet-rotates",
			Title: "kubelets renew their certificates",
			Doc:   `Looks at rotateCertificates in the kubelet's configuration. The kubelet asks for a new certificate at 70 to 90 % of the old one's validity; rotation-overdue watches whether it did.`,
			Run:   kubeletRotates,
		},
		{
			ID:    "kubeconfig-sound",
			Title: "kubeconfigs on nodes name one cluster and its CA",
			Doc: `Looks at each kubeconfig on a node: can it be read, does it name a cluster, does certificate-authority-data hold a CA. More than one cluster is a warning: the machine-config-daemon reads and updates the first one, whatever the current context is.
A line that a script put into the wrong place is found here.`,
			Run: kubeconfigSound,
		},
		{
			ID:    "file-private",
			Title: "keys and tokens on nodes are root's alone",
			Doc:   `Mode and owner of files that hold private keys, tokens or passwords: root's, and nothing for others. And of all files with certificates: only the owner may change them, since a user that can change the CAs that a node trusts can act as any user.`,
			Run:   filePrivate,
		},
		{
			ID:    "token-in-logs",
			Title: "no log holds what a machine joins the cluster with",
			Doc: `The machine-config-daemon of 4.16 and later prints the whole of /etc/kubernetes/kubeconfig whenever it writes a new CA into it: with the token of service account openshift-machine-config-operator/node-bootstrapper, which never expires, or, on masters of the first installation, the key of a certificate for the same account that is valid for 10 years. 4.18 to 4.21 stopped that in releases of December 2025 and later; the branches of 4.16 and 4.17 had not by August 2026. Whoever has one of them can ask for a node's certificate; whether it is approved is for the machine-approver, or whoever approves requests, to say. Logs are read by more people than Secrets are: by cluster-readers, in log stores, in must-gathers.
Looks for such lines in the daemon's container logs, on nodes that are read and in must-gathers, and says which files they are in, how many, and when they were written; the lines stay where they are. The journal and log stores are not searched.
What to do, in this order, while no machine is being added. Upgrade to a release that does not print it, or what is new is printed, too. Delete the Secret openshift-machine-config-operator/node-bootstrapper-token: the old token is refused from then on, the machine-config-operator creates the Secret again, and the machine-config-server serves the new token to new machines within minutes. Nodes go on working with the certificates that they have, but keep the old token: put the new one into users[0].user.token of /etc/kubernetes/kubeconfig on each, or a node whose certificate expires (one that was off for long) can't rejoin without help. Then delete the machine-config-daemon pods that the logs are of, one at a time and not during an update: their logs go with them; and remove what log stores and must-gathers hold.
A printed key is of use until its CA is removed from the ConfigMap openshift-config-managed/kubelet-bootstrap-kubeconfig: without that CA the API server refuses the first masters' bootstrap kubeconfig, so give these masters the token first.
Where the Secret was read and is younger than all such lines of a log, the token in it was replaced (info).`,
			Run: tokenInLogs,
		},
		{
			ID:    "clock-skew",
			Title: "clocks agree",
			Doc: `Compares the clock of each node that was read, and of this machine, with the API server's; warns from 30 s on, critical from 5 min on. With a clock that is behind, fresh certificates are not valid yet; with one that is ahead, good ones have expired. Certificates for kubelets are backdated by 5 min, so that is what a cluster bears.
A clock is read to the second, and how long the answer took is taken into account: the difference is at least what is said.`,
			Run: clockSkew,
		},
		{
			ID:    "certificate-outlives-ca",
			Title: "certificates expire before the CA that issued them",
			Doc: `A certificate that is valid for longer than its CA is refused once the CA expires, whatever its own dates say. Looks at each certificate in use whose CA was read, unless it is rotated before. A CA that was renewed with its key counts with its latest certificate. Of more than 20 CAs of one name, those of the platform and of the certificate's own namespace are tried; where none of them issued it, or trying them costs too much, a finding says that it is unknown.
A warning when the CA expires within --expiring-within (30 d), else worth knowing (info).`,
			Run: outlivesIssuer,
		},
		{
			ID:    "serving-names",
			Title: "serving certificates name their hosts",
			Doc:   `A serving certificate without subject alternative names is refused: the common name in its subject has not counted for years (in Go since 1.15). Looks at certificates of places that serve, at those that may do nothing but serve, and at those in Secrets of type kubernetes.io/tls that may serve and have a host in their common name. Have it issued with the names and addresses under which clients reach it.`,
			Run:   servingNames,
		},
		{
			ID:    "serving-usage",
			Title: "serving certificates allow to serve",
			Doc: `A certificate whose extended key usages are given and do not hold "server auth" is refused when a server presents it ("certificate specifies an incompatible key usage"); without any, each usage is allowed. Looks at certificates of places that serve: the catalog's, the Secrets that a Route, IngressController, APIServer or Ingress (OpenShift's and Kubernetes' own) names, a Route's own. A client's certificate in a Secret that none of these names is none of its business.
Have it issued with server auth.`,
			Run: servingUsage,
		},
		{
			ID:    "serving-chain",
			Title: "the chain of each serving certificate is its own",
			Doc: `A server presents its certificate and what stands after it. Clients that trust a root alone need each intermediate there: a chain that was left behind when the CA changed its intermediate, or that belongs to another certificate, is refused by them ("certificate signed by unknown authority"), while clients that happen to have the intermediate go on. A certificate that stands after its CA is not presented at all: servers load the first one and refuse its key.
Looks at certificates that are followed by others, in the places of which serving-usage speaks and in Secrets of type kubernetes.io/tls; not at a Route's own, whose chain may be in caCertificate. A warning where a chain holds what did not issue its certificate and lacks what did, unless that is a root, or in a CA bundle of the cluster; info where the order alone is wrong, since most clients sort.
Write the value again: the certificate first, then the intermediates up to the root.`,
			Run: servingChain,
		},
		{
			ID:    "secret-ca-verifies",
			Title: "the ca.crt of each Secret verifies the certificate beside it",
			Doc: `A Secret with ca.crt and tls.crt mostly means: this CA issued this certificate (cert-manager writes both). Clients that are given this ca.crt refuse the server when it does not verify tls.crt. Chains in tls.crt count; what has expired is a finding of other checks. A certificate for clients only is passed over, since ca.crt is then the server's CA, and so is a ca.crt that the catalog knows to be something else.
Some put a CA there that verifies clients (ingress-nginx's auth-tls-secret): info, where that CA issued a client's certificate that was read. Find out which of both is outdated, and have the issuer write the Secret again.`,
			Run: secretCA,
		},
		{
			ID:    "strong-keys",
			Title: "keys and signatures are strong enough for today's readers",
			Doc: `RSA keys below 2048 bits, P-224 and DSA, and signatures with MD5 or SHA-1. Go refuses SHA-1 signatures (since 1.18), DSA, and RSA below 1024 bits; OpenSSL refuses RSA below 2048 bits by the default policies of today's systems, as FIPS does.
A warning where the certificate is presented to others. In CA bundles only the key counts (info): who trusts a CA does not check who signed it. Nor does the signature of a self-signed certificate count.`,
			Run: strength,
		},
		{
			ID:    "signer-type",
			Title: "signers are in Secrets of type kubernetes.io/tls",
			Doc: `Old installers and operators made the signers' Secrets with the type "SecretTypeTLS". A Secret's type can't be changed: operators of early 4.15 delete such a Secret and create it again as soon as its annotations change, and two processes do so at once. Each may make a signer of its own, which replaces the CA of api-int unasked.
A warning in 4.15, else worth knowing before an upgrade (info). docs/catalog.md has the versions.`,
			Run: signerType,
		},
		{
			ID:    "key-matches",
			Title: "every certificate has the key beside it",
			Doc: `Compares the public key of the first certificate with the private key beside it (tls.crt and tls.key, x.crt and x.key, or one file of both). A server with another key fails to start, or its TLS handshakes fail.
Only the public half of the key is looked at, and only its sha256 kept.`,
			Run: keyMismatch,
		},
		{
			ID:    "key-in-place",
			Title: "private keys are only where they belong",
			Doc: `A private key in a ConfigMap, in a CA bundle, in a MachineConfig or in a webhook's caBundle is readable by far more people than a Secret. Treat it as compromised: remove it there, and replace the certificate with one of a new key. The key of a Route's own certificate belongs where it is.
Names each certificate that was read whose public key is the key's. Of a private key nothing is kept but the sha256 of its public half; of one that is encrypted, or of a kind that is not read, it is unknown.`,
			Run: keyInPlace,
		},
		{
			ID:    "pem-readable",
			Title: "everything that claims to be a certificate can be read",
			Doc: `Truncated or mistyped PEM, two blocks run together without a newline, bytes that are no certificate. Go and OpenSSL skip or refuse such blocks without a word, so that a CA which seems to be in a bundle is not. Write the value again from its source.
In CA bundles also PEM that people can read and Go skips: a block that is indented or quoted, that follows a byte order mark, that is labelled TRUSTED CERTIFICATE or X509 CERTIFICATE, or that has headers.
A Secret of type kubernetes.io/tls without a certificate in tls.crt, and one of OpenShift's own CA bundles that is empty, claim by type and name what they do not hold. A Secret younger than an hour may still be waiting for its certificate (info).`,
			Run: unreadable,
		},
		{
			ID:    "crl-current",
			Title: "every revocation list is the current one",
			Doc: `A revocation list (CRL) says until when it is valid (nextUpdate). A server that checks certificates against an expired one refuses all certificates of that CA, also those that were never revoked: an IngressController with clientTLS then refuses every client ("certificate revocation list expired").
Put the list there that the CA publishes now; where something fetches it (the router does, from the distribution points in the CA's certificate), find out why it can't. A list without nextUpdate never expires.`,
			Run: crlEnded,
		},
		{
			ID:    "bundle-expired-ca",
			Title: "CA bundles hold only CAs that are valid",
			Doc:   `A CA that has expired while others in its bundle are valid breaks nothing by itself, but hides what is really trusted. Operators drop it at the next rotation; in a bundle that you keep, remove it.`,
			Run:   bundleExpired,
		},
		{
			ID:    "bundle-duplicate",
			Title: "CA bundles hold each CA once",
			Doc:   `The same certificate twice in one bundle: harmless, and a sign that something appends without looking. A bundle that grows that way reaches the size limit of its object one day.`,
			Run:   bundleDuplicate,
		},
		{
			ID:    "bundle-not-ca",
			Title: "CA bundles hold CAs",
			Doc:   `A certificate without CA:TRUE in a CA bundle issues nothing. Go accepts exactly that certificate when a server presents it; OpenSSL mostly does not. It can be meant so: OpenShift itself publishes the chain that its router serves as default-ingress-cert, and with it in kube-root-ca.crt.`,
			Run:   bundleNotCA,
		},
		{
			ID:    "bundle-complete",
			Title: "every bundle that is made of others holds all of their CAs",
			Doc: `OpenShift builds bundles out of bundles and copies them: kube-apiserver-server-ca from four CAs, serviceaccount-ca and kube-root-ca.crt from that, and so on (docs/catalog.md). While a copy lacks a CA of its source, whoever reads the copy refuses what that CA signed.
In the first hour after a rotation this is normal (info). When it stays, the operator that copies is not working, or is blocked: for kube-root-ca.crt by a revision of kube-controller-manager that can't roll out. Never edit the copy: its owner puts it back within seconds.`,
			Run: bundleComplete,
		},
		{
			ID:    "copies-agree",
			Title: "the CA copies in every namespace are the same",
			Doc:   `kube-root-ca.crt and openshift-service-ca.crt are published into every namespace. A copy that differs makes pods of that namespace refuse the API server or services. The publisher overwrites changes at once. A differing copy means that the publisher does not run, that it was refused, or that the copy is immutable (immutable: true): whoever may write ConfigMaps in the namespace can delete it and make another one, which the publisher then can't change. Such a copy harms pods of that namespace only; rotate tells of it and does not wait for it.`,
			Run:   copiesAgree,
		},
		{
			ID:    "ca-names",
			Title: "CAs with different keys have different names",
			Doc: `Readers look for a certificate's CA by name. Where two CAs of one name have different keys, a reader that has the other one refuses the certificate, with errors that speak of a wrong signature ("crypto/rsa: verification error" while trying to verify a candidate authority). It happens where a CA is rotated under its old name, as cert-manager does.
Where one bundle holds two of them and one has no subject key identifier, readers can't choose between them: OpenSSL takes the first of that name (warning). Else it is worth knowing (info): CAs of clusters that run on this one are often called alike, and no reader has both.`,
			Run: caNames,
		},
		{
			ID:    "issuer-seen",
			Title: "the CA of every certificate in use is in a CA bundle",
			Doc: `Climbs from each certificate in use over the CAs that were read to one that is in a CA bundle of the cluster. Where there is none, its readers trust it by other means: their system's CAs, a file of their own; or none of them does.
Where there are more than 20 CAs of one name, or trying them costs too much, a finding says that it is unknown. Judged only where all Secrets and ConfigMaps were read; info, since nothing here says who reads it.`,
			Run: issuerSeen,
		},
		{
			ID:    "reference-resolves",
			Title: "the certificates that the cluster's configuration names are there",
			Doc: `Proxy (trustedCA), APIServer (namedCertificates, clientCA), Image (additionalTrustedCA), OAuth (the CAs of identity providers, and client certificates for them), Ingress (componentRoutes) and IngressController (defaultCertificate, clientTLS) name Secrets in openshift-config or openshift-ingress and ConfigMaps in openshift-config; a Route (externalCertificate) and an Ingress of Kubernetes' own (spec.tls) name a Secret beside them. One that is not there, or holds no certificate under the key that is read, has no effect: a server goes on with what it has or does not start (critical), and the trusted CAs stay as they were (warning); an identity provider whose CA is not there is not used.
Make the object, or correct the name. Where it may not be read, or a must-gather does not hold that namespace, nothing is said.`,
			Run: referenceResolves,
		},
		{
			ID:    "mco-reports-agree",
			Title: "the machine-config-controller reports the certificates that it delivers",
			Doc: `From 4.14, a ControllerConfig's status.controllerCertificates and a MachineConfigPool's status.certExpirys list what the ControllerConfig's own data holds. Compares both with that data, by common name and times of validity.
What is not listed, or listed and not there any more, means that the machine-config-controller is behind or does not run, and then nodes do not get new CAs either: kubectl -n openshift-machine-config-operator logs deploy/machine-config-controller. In the first hour of a new certificate this is normal (info). A pool follows later than the ControllerConfig; what it lists too much is info.`,
			Run: reportsAgree,
		},
		{
			ID:    "called-trusted",
			Title: "the API server trusts the webhooks and API servers that it calls",
			Doc: `Webhooks, conversions of CRDs and APIServices that call a Service have the CA for it in a caBundle of their own. Compares that with the certificates in the Service's namespace that are for its name: one of them must verify, for SERVICE.NAMESPACE.svc. If none does, the API server refuses the call: objects can't be written, or an API is gone.
Which certificate a Service's port presents is known only where service-ca keeps both the certificate and the CA bundle (critical); otherwise it is likely (warning): look at what the port presents first. Where no certificate of that name is seen, nothing is said; where there are more than 20, or verifying them costs too much, a warning says that it is unknown. No caBundle at all means that the system's CAs are trusted, none of which signs for a Service.`,
			Run: calledTrusted,
		},
		{
			ID:    "csr-answered",
			Title: "certificate requests are answered",
			Doc: `A CertificateSigningRequest that stays pending, or approved without a certificate, leaves a kubelet or a component without its next certificate. Look at requester and names before approving by hand: oc get csr; oc describe csr NAME; oc adm certificate approve NAME.
A pile of requests of one node means that it asks again and again: one approval is enough, then the rest are removed automatically.`,
			Run: csrAnswered,
		},
	}
}
