package foreign

import (
	"regexp"
	"strings"
	"sync"
)

// knownLength is longer than any known sentence with the names in it.
const knownLength = 600

// mostAbout is how many things an error is about at most, one in the other.
const mostAbout = 8

// isKnown reports whether a text is an error of Go's, of Kubernetes' or of a node's tools that is the same everywhere,
// word for word, with plain names in it, behind what it is about, as in “dial tcp ADDRESS: connect: connection refused”.
// There is no list of what an instruction may be: any sentence may be one.
func isKnown(s string) bool {
	if len(s) > knownLength || strings.TrimSpace(s) != s {
		return false
	}
	k := known()
	for range mostAbout {
		if k.errs.MatchString(s) {
			return true
		}
		about, rest, more := strings.Cut(s, ": ")
		if !more || !k.about.MatchString(about) {
			return false
		}
		s = rest
	}
	return false
}

type forms struct{ about, errs *regexp.Regexp }

var known = sync.OnceValue(knownForms) //nolint:gochecknoglobals // a constant, made when it is needed

func knownForms() forms {
	fill := strings.NewReplacer("NAME", nameInError, "URL", `https?://[!-!#-~]+`, "METHOD", `(?:none|publickey|password|keyboard-interactive|gssapi-with-mic|hostbased)`)
	anchored := func(of []string) *regexp.Regexp {
		return regexp.MustCompile(`^(?:` + fill.Replace(strings.Join(of, "|")) + `)$`)
	}
	return forms{anchored(knownAbout()), anchored(knownErrors())}
}

// nameInError is a name without blanks, which begins no option and is not what stands before an instruction.
const nameInError = `[A-Za-z0-9_./*\[](?:[-A-Za-z0-9_./*:@%+=,#~\[\]]*[-A-Za-z0-9_./*@%+=#~\]])?`

// knownAbout is what an error may be about.
func knownAbout() []string {
	return []string{
		// files
		`/NAME`, `(?:open|openat|stat|lstat|read|readlink|write|close|mkdir|rename|remove|unlink|unlinkat|chmod|fork/exec|exec|chdir|fsync) NAME`,
		// connections
		`dial (?:tcp|tcp4|tcp6|udp|unix)(?: NAME)?`, `(?:dial|read|write) (?:tcp|udp|unix) NAME->NAME`, `lookup NAME(?: on NAME)?`,
		`connect to host NAME port [0-9]+`, `address NAME`, `(?:Get|Post|Put|Patch|Delete|Head) "URL"`,
		`connect`, `read`, `write`, `proxyconnect tcp`, `socks connect tcp NAME->NAME`, `getsockopt`, `EOF`, `net/http`, `http`, `http2`, `context`,
		`x509`, `tls`, `remote error`, `local error`, `ssh`, `asn1`, `crypto/rsa`, `crypto/ecdsa`, `json`, `yaml`, `error sending request`,
		`unable to upgrade connection`, `error dialing backend`, `Internal error occurred`, `Forbidden`,
		`failed to verify certificate`, `failed to parse certificate from server`, `handshake failed`, `unable to authenticate`, `rejected`,
		`connect failed`, `Get`, `wait`, `disconnect, reason [0-9]+`,
		// tools of nodes
		`(?:/usr)?(?:/s?bin/)?(?:awk|busybox|cat|chcon|chmod|chown|chroot|cp|cut|dd|env|find|flock|head|ln|ls|mkdir|mktemp|mv|nsenter|od|openssl|readlink|rm|rmdir|sed|sh|sha256sum|sort|stat|sudo|sync|systemctl|tail|test|timeout|touch|wc|bash)`,
		`cannot (?:access|create regular file|create directory|move|open|overwrite|remove|stat|statx|touch|change root directory to) '?NAME'?(?: for reading)?`,
		`line [0-9]+`, `[0-9]+`,
		`failed to (?:create|close|open|remove|run command) [‘']?NAME[’']?`, `error reading '?NAME'?`, `error writing '?NAME'?`, `/bin/sh`,
		`can't open '?NAME'?`, `cannot move '?NAME'? to '?NAME'?`, `(?:preserving|setting) (?:times|permissions) for '?NAME'?`,
	}
}

// knownErrors are the errors themselves.
func knownErrors() []string {
	return []string{
		// systems and tools
		`[Pp]ermission denied`, `[Oo]peration not (?:permitted|supported)`, `[Nn]o such (?:file or directory|device|process|device or address)`,
		`[Ff]ile exists`, `[Ff]ile does not exist`, `file already (?:exists|closed)`, `[Nn]ot a directory`, `[Ii]s a directory`, `[Dd]irectory not empty`,
		`[Rr]ead-only file system`, `[Nn]o space left on device`, `[Dd]isk quota exceeded`, `[Ii]nput/output error`, `[Tt]oo many open files`,
		`[Tt]oo many levels of symbolic links`, `[Ff]ile name too long`, `[Ii]nvalid argument`, `[Tt]ext file busy`, `[Dd]evice or resource busy`,
		`[Ss]tale file handle`,
		`[Cc]onnection (?:refused|reset by peer|timed out|closed)`, `[Bb]roken pipe`, `[Nn]o route to host`, `[Nn]etwork is unreachable`,
		`[Cc]annot allocate memory`, `[Cc]annot assign requested address`, `[Aa]ddress already in use`, `[Ee]xec format error`,
		`[Ee]xecutable file not found in \$PATH`, `[Nn]ot enough space`, `(?:command )?not found`, `a password is required`,
		`a terminal is required to read the password; either use the -S option to read from standard input or configure an askpass helper`,
		`executable file not found in \$PATH`, `NAME: (?:command )?not found`, `[Cc]annot open(?: file)?`, `[Aa]rgument list too long`, `Killed`,
		`Terminated`, `[Tt]his account is (?:currently )?not available\.?`, `failed`, `failure`,
		// texts
		`illegal base64 data at input byte [0-9]+`, `unexpected end of JSON input`, `mapping values are not allowed in this context`,
		`did not find expected (?:key|node content|'-' indicator|',' or '[\]}]'|<document start>)`, `could not find expected ':'`,
		`found (?:character that cannot start any token|a tab character that violates indentation|unexpected end of stream)`,
		`control characters are not allowed`, `document contains excessive aliasing`,
		// connections
		`i/o timeout`, `EOF`, `unexpected EOF`, `no such host`, `server misbehaving`, `use of closed network connection`,
		`context (?:canceled|deadline exceeded)`, `TLS handshake timeout`, `timeout awaiting response headers`,
		`server gave HTTP response to HTTPS client`, `server closed idle connection`,
		`request canceled(?: while waiting for connection)?(?: \((?:Client\.Timeout|context deadline) exceeded(?: while awaiting headers)?\))?`,
		`context deadline exceeded \(Client\.Timeout exceeded while (?:awaiting headers|reading body)\)`, `missing port in address`,
		`too many colons in address`, `unsupported protocol scheme "[a-z]*"`, `malformed HTTP (?:response|status code|version)`,
		`transport endpoint is not connected`, `client connection lost`, `stream closed`, `signal: [a-z]+`, `exit status [0-9]+`,
		`Process exited with status [0-9]+(?: from signal NAME)?`, `[Tt]oo many authentication failures`, `Temporary failure in name resolution`,
		`ssh: handshake failed`, `handshake failed`, `ssh: subsystem request failed`, `ssh: command NAME failed`,
		`remote command exited without exit status or exit signal`, `administratively prohibited \(open failed\)`,
		`connect failed \((?:Connection (?:refused|timed out)|No route to host|Network is unreachable|open failed)\)`,
		`unable to authenticate, attempted methods \[(?:METHOD(?: METHOD)*)?\], no supported methods remain`, `open failed`, `resource shortage`,
		// certificates
		`certificate signed by unknown authority(?: \(possibly because of "(?:crypto/rsa: verification error|x509: (?:ECDSA|Ed25519) verification failure|x509: invalid signature: parent certificate cannot sign this kind of certificate)" while trying to verify candidate authority certificate "NAME"\))?`,
		`certificate has expired or is not yet valid(?:: current time [-0-9TZ:+]+ is (?:after|before) [-0-9TZ:+]+)?`,
		`certificate is valid for (?:NAME|NAME(?:, NAME)+), not NAME`, `cannot validate certificate for NAME because it doesn't contain any IP SANs`,
		`certificate is not valid for any names, but wanted to match NAME`,
		`certificate specifies an incompatible key usage`, `certificate is not authorized to sign other certificates`,
		`certificate is not authorized to sign for this name`,
		`a root or intermediate certificate is not authorized to sign for this name(?:: (?:DNS name|IP address|URI|email address) "NAME" is not permitted by any constraint)?`,
		`too many intermediates for path length constraint`, `issuer name does not match subject from issuing certificate`, `unhandled critical extension`,
		`invalid signature`, `invalid signature: parent certificate cannot sign this kind of certificate`,
		`certificate relies on legacy Common Name field, use SANs instead`, `certificate contained no names, but wanted to match NAME`,
		`failed to load system roots and no roots provided`, `certificate has a name constraint`, `no certificates? (?:configured|sent)`,
		`cannot verify signature: (?:insecure algorithm NAME|algorithm unimplemented)`,
		`malformed (?:certificate|serial number|version|validity|extensions?|extension|signature|tbs certificate|spki|public key|issuer|subject|UTCTime|GeneralizedTime|algorithm identifier|signature algorithm identifier|key usage|SAN|DN)`,
		`bad certificate`, `unknown certificate(?: authority)?`, `certificate required`, `expired certificate`, `revoked certificate`,
		`unsupported certificate`, `handshake failure`, `protocol version not supported`, `internal error`, `access denied`, `no application protocol`,
		`unrecognized name`, `bad record MAC`, `error decrypting message`, `illegal parameter`, `decode error`, `inappropriate fallback`, `user canceled`,
		`unexpected message`, `first record does not look like a TLS handshake`, `oversized record received with length [0-9]+`,
		`no cipher suite supported by both client and server`, `server selected unsupported protocol version [0-9a-f]+`, `trailing data`,
		`negative serial number`, `unsupported elliptic curve`, `invalid version`,
		`structure error: (?:integer not minimally-encoded|integer too large|empty integer|invalid boolean|length too large|non-minimal (?:length|tag)|superfluous leading zeros in length|indefinite length found \(not DER\)|sequence tag mismatch|base 128 integer too large|zero length explicit tag was not an asn1\.Flag)`,
		`syntax error: (?:data truncated|sequence truncated|truncated tag or length|truncated base 128 integer|zero length (?:BIT STRING|OBJECT IDENTIFIER)|invalid padding bits in BIT STRING|trailing data|[A-Za-z]+String contains invalid character)`,
		`RSA modulus is not a positive number`, `invalid ECDSA parameters`, `unknown public key algorithm`, `invalid basic constraints`,
		`invalid (?:issuer|key usage|extended key usages?|subject key identifier|authority key identifier|DNS name|RDNSequence|CRL distribution points?|extension|generic)`,
		`inner and outer signature algorithm identifiers don't match`,
		// Kubernetes
		`NAME(?: "NAME")? is forbidden: User "NAME" cannot [a-z*]+ (?:resource "NAME"(?: in API group "(?:NAME)?")?|path "NAME")(?: (?:at the cluster scope|in the namespace "NAME"))?(?:: RBAC: NAME "NAME" not found)?`,
		`forbidden: User "NAME" cannot [a-z]+ path "NAME"`, `forbidden: not yet ready to handle request`,
		`NAME(?: "NAME")? is forbidden: User "NAME" cannot [a-z]+`,
		`NAME "NAME" (?:not found|already exists)`,
		`(?:Operation cannot be fulfilled on NAME "NAME": )?the object has been modified; please apply your changes to the latest version and try again`,
		`[Uu]nauthorized`, `[Ff]orbidden`, `[Tt]oo [Mm]any [Rr]equests`, `[Nn]ot [Ff]ound`, `[Bb]ad [Gg]ateway`, `[Ss]ervice [Uu]navailable`,
		`[Gg]ateway [Tt]imeout`, `404 page not found`, `Expired`, `Gone`, `Timeout`,
		`the server could not find the (?:requested resource|metric NAME for NAME)(?: \([a-z]+ NAME\))?`, `the server doesn't have a resource type "NAME"`,
		`the server has asked for the client to provide credentials`, `the server is currently unable to handle the request`,
		`the server was unable to return a response in the time allotted, but may still be processing the request`,
		`the server rejected our request for an unknown reason`, `the server has received too many requests and has asked us to try again later`,
		`the server does not allow this method on the requested resource`, `unknown`,
		`an error on the server \("(?:unknown|NAME)?"\) has prevented the request from (?:succeeding|being processed)`,
		`Working towards NAME(?:: [0-9]+ of [0-9]+ done \([0-9]+% complete\)(?:, waiting (?:up to [0-9]+ minutes )?on NAME(?:, NAME)*)?)?`,
		`Cluster version is NAME`,
		`This CSR was approved by (?:kubectl certificate approve|the Node CSR Approver(?: \(cluster-machine-approver\))?)\.?`,
		`Auto approving (?:self )?kubelet client certificate after SubjectAccessReview\.`,
		`etcdserver: (?:request timed out(?:, possibly due to (?:previous leader failure|connection lost))?|leader changed|no leader|too many requests|mvcc: database space exceeded)`,
		`etcd is not ready`, `rpc error: code = [A-Za-z]+ desc = (?:context deadline exceeded|transport is closing|error reading from server: EOF)`,
		`[Tt]he provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.`,
		`too old resource version(?:: [0-9]+ \([0-9]+\))?`, `The resourceVersion for the provided watch is too old\.`,
		`the server answered [0-9]{3}(?: (?:Bad Request|Unauthorized|Forbidden|Not Found|Method Not Allowed|Not Acceptable|Request Timeout|Conflict|Gone|Request Entity Too Large|Unprocessable Entity|Too Many Requests|Internal Server Error|Not Implemented|Bad Gateway|Service Unavailable|Gateway Timeout))?, without a reason`,
		`(?:error upgrading connection|container not found \("NAME"\)|pod does not exist|cannot exec into a container in a completed pod; current phase is NAME|container NAME is not running)`,
	}
}
