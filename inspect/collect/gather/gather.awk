# The reading half of the gather program (gather.sh is the other one). It is
# what decides which bytes of a file leave the node, by one rule: a byte leaves
# only if it belongs to something that was proven to be harmless. All else is
# counted, named or overwritten with x, never copied.
#
# POSIX awk only: gawk, mawk and busybox awk run it. No apostrophe may occur in
# this file, since gather.sh carries it between apostrophes.
#
# Arguments: a mode, then what that mode says below.

BEGIN {
	setup()
	count = ARGC - 1
	for (i = 1; i <= count; i++) args[i] = ARGV[i]
	ARGC = 1 # names of files are no arguments of ours: getline reads standard input
	if (args[1] == "files") files()
	else if (args[1] == "der") der(args[2])
	else if (args[1] == "flags") flags()
	else if (args[1] == "pairs") pairs(args[2])
	else if (args[1] == "names") names(args[2])
	else if (args[1] == "limit") limit(args[2] + 0)
	else if (args[1] == "logged") logged(args[2] + 0)
	else if (args[1] == "refused") refused(args[2])
	exit 0
}

function setup(   i, c, n, word) {
	# Masks must have the length of what they cover, in bytes.
	if (length("\303\244") != 2) exit 3
	for (i = 1; i < 256; i++) {
		c = sprintf("%c", i)
		CH[i] = c
		PCT[c] = sprintf("%%%02X", i)
	}
	for (i = 0; i < 256; i++) HEX[sprintf("%02x", i)] = i
	ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for (i = 1; i <= 64; i++) B64[substr(ALPHABET, i, 1)] = i - 1
	FILLER = "xxxxxxxxxxxxxxxx"
	BOM = "\357\273\277"
	# "BEGIN CERTIFICATE" in base64, at each of its three alignments
	RUN[1] = "QkVHSU4gQ0VSVElGSUNBVE"; RUN[2] = "JFR0lOIENFUlRJRklDQVRF"; RUN[3] = "CRUdJTiBDRVJUSUZJQ0FUR"
	RUN32 = ""
	for (i = 0; i < 32; i++) RUN32 = RUN32 "[A-Za-z0-9]"
	n = split("PRIVATE KEY,RSA PRIVATE KEY,EC PRIVATE KEY,DSA PRIVATE KEY,ENCRYPTED PRIVATE KEY,OPENSSH PRIVATE KEY,PUBLIC KEY,RSA PUBLIC KEY,EC PARAMETERS,DH PARAMETERS,PKCS7,CMS,TRUSTED CERTIFICATE,CERTIFICATE,X509 CERTIFICATE,X509 CRL,CERTIFICATE REQUEST,NEW CERTIFICATE REQUEST", word, ",")
	for (i = 1; i <= n; i++) LABEL[word[i]] = 1
	allowed()
}

# allowed fills KEEP: the values that may leave, by the path that leads to them,
# each with the shape that it must have; and KNOWN: the keys whose names may.
function allowed(   i, n, word, pair) {
	n = split(".apiVersion=name .kind=name .current-context=name" \
		" .clusters[].name=name .clusters[].cluster.server=url .clusters[].cluster.proxy-url=url" \
		" .clusters[].cluster.certificate-authority=path .clusters[].cluster.certificate-authority-data=cert" \
		" .clusters[].cluster.tls-server-name=name .clusters[].cluster.insecure-skip-tls-verify=bool" \
		" .clusters[].cluster.disable-compression=bool" \
		" .contexts[].name=name .contexts[].context.cluster=name .contexts[].context.user=name" \
		" .contexts[].context.namespace=name .users[].name=name .users[].user.client-certificate=path" \
		" .users[].user.client-certificate-data=cert .users[].user.client-key=path .users[].user.tokenFile=path" \
		" .rotateCertificates=bool .serverTLSBootstrap=bool .authentication.x509.clientCAFile=path" \
		" .authentication.anonymous.enabled=bool .authentication.webhook.enabled=bool .authorization.mode=name" \
		" .tlsCertFile=path .tlsPrivateKeyFile=path .tlsMinVersion=name" \
		" .featureGates.RotateKubeletServerCertificate=bool", word, " ")
	for (i = 1; i <= n; i++) {
		split(word[i], pair, "=")
		KEEP[pair[1]] = pair[2]
	}
	n = split("apiVersion kind current-context clusters name cluster server proxy-url certificate-authority certificate-authority-data tls-server-name insecure-skip-tls-verify disable-compression contexts context user namespace users client-certificate client-certificate-data client-key client-key-data token tokenFile username password as as-uid as-groups as-user-extra auth-provider config exec command args env value interactiveMode installHint provideClusterInfo extensions extension preferences colors rotateCertificates serverTLSBootstrap authentication x509 clientCAFile anonymous enabled webhook cacheTTL authorization mode tlsCertFile tlsPrivateKeyFile tlsMinVersion tlsCipherSuites featureGates RotateKubeletServerCertificate", word, " ")
	for (i = 1; i <= n; i++) KNOWN[word[i]] = 1
	# values of the kubelet flags that may leave
	n = split("config=path config-dir=path kubeconfig=path bootstrap-kubeconfig=path cert-dir=path client-ca-file=path tls-cert-file=path tls-private-key-file=path root-dir=path node-ip=name hostname-override=name rotate-certificates=bool rotate-server-certificates=bool authorization-mode=name authentication-token-webhook=bool anonymous-auth=bool tls-min-version=name v=name", word, " ")
	for (i = 1; i <= n; i++) {
		split(word[i], pair, "=")
		FLAG[pair[1]] = pair[2]
	}
}

# ---- text -------------------------------------------------------------------

# x is the mask for n bytes.
function x(n) {
	if (n <= 0) return ""
	while (length(FILLER) < n) FILLER = FILLER FILLER
	return substr(FILLER, 1, n)
}

# esc writes everything but printable ASCII as %XX.
function esc(s,   i, c, out) {
	if (s !~ /[^ -~]|%/) return s
	gsub(/%/, "%25", s)
	gsub(/\n/, "%0A", s)
	gsub(/\r/, "%0D", s)
	gsub(/\t/, "%09", s)
	if (s !~ /[^ -~]/) return s
	out = ""
	for (i = 1; i <= length(s); i++) {
		c = substr(s, i, 1)
		out = out ((c ~ /[ -~]/) ? c : PCT[c])
	}
	return out
}

# field is esc for one field of a record.
function field(s) {
	if (s == "") return "-"
	if (s == "-") return "%2D"
	s = esc(s)
	gsub(/ /, "%20", s)
	return s
}

# ---- files ------------------------------------------------------------------

# files reads, on standard input, the line "STRIP BUDGET", a line for each file
# (letter, then what stat said), and a checksum for each file to be read or
# hashed. The arguments are the names, each with STRIP bytes of prefix; for
# links, followed by the target as it is written and as it was resolved.
function files(   line, part, strip, n, i, a, plan, sum) {
	getline line
	split(line, part, " ")
	strip = part[1]
	BUDGET = part[2] + 0
	n = part[3] + 0
	for (i = 1; i <= n; i++) getline plan[i]
	KEYED = ""
	BINARY = ""
	a = 2
	for (i = 1; i <= n; i++) {
		sum = ""
		if (plan[i] ~ /^[RH] /) {
			getline sum
			sum = checksum(sum)
			if (sum == "") exit 4
		}
		split(plan[i], part, " ")
		NAME = args[a++]
		LINK = RESOLVED = ""
		if (part[1] == "L") {
			LINK = substr(args[a++], 2)
			RESOLVED = args[a++]
		}
		# letter mode uid gid user group size mtime ctime inode dev label sha link resolved path
		print "file " part[1] " " part[7] " " part[8] " " part[9] " " part[10] " " part[11] " " part[2] " " part[3] " " part[4] " " part[5] " " part[6] " " (part[12] == "?" || part[12] == "C" ? "-" : field(part[12])) " " field(sum) " " field(LINK) " " field(RESOLVED) " " field(substr(NAME, strip + 1))
		if (part[1] == "R") {
			print "content " sum
			content(NAME, part[2] + 0, i)
		}
	}
	print "keyed" KEYED
	print "binary" BINARY
}

# checksum takes the sum from a line as sha256sum, shasum and openssl write it.
function checksum(line) {
	sub(/^\\/, "", line)
	line = substr(line, 1, 64)
	return length(line) == 64 && line !~ /[^0-9a-f]/ ? line : ""
}

function note(code, text) { print "note " code " " esc(text) }

# segment sends bytes of the file, already escaped.
function segment(offset, len, escaped) {
	BUDGET -= length(escaped)
	if (BUDGET < 0) note("omitted", "no room left in the output")
	else print "seg " offset " " len " " escaped
}

# gap sends what stands beside a block on its line, by which readers of PEM decide
# whether they load it. It is short, and goes out even where segments have no room left.
function gap(offset, s,   m) {
	if (s == "") return
	m = field(marks(s))
	print "gap " offset " " length(s) " " m
	BUDGET -= length(m)
}

# marks keeps the white space, quotes and byte order marks at both ends of a text, as far
# as 8 of them. All else is one x, or a space where nothing but those is left.
function marks(s,   n, i, head, tail) {
	head = tail = ""
	for (i = 0; i < 8 && (n = kept(substr(s, 1, 3), 0)); i++) {
		head = head substr(s, 1, n)
		s = substr(s, n + 1)
	}
	for (i = 0; i < 8 && (n = kept(length(s) < 3 ? s : substr(s, length(s) - 2), 1)); i++) {
		tail = substr(s, length(s) - n + 1) tail
		s = substr(s, 1, length(s) - n)
	}
	return head (s == "" ? "" : s ~ /[^ \t\r]/ ? "x" : " ") tail
}

# kept tells how many bytes of a text are such a sign, at its start or at its end.
function kept(s, end) {
	if (s == BOM) return 3
	if (end) s = substr(s, length(s))
	return s ~ /^[ \t\r"`\047]/
}

function content(name, size, index_in_chunk,   trouble, kube) {
	DECODED = 0
	trouble = slurp(name, size)
	if (trouble == "binary") {
		BINARY = BINARY " " index_in_chunk
		return
	}
	if (trouble != "") {
		note("unreadable", trouble)
		return
	}
	kube = kubeish()
	if (kube) {
		if (redact()) {
			whole(size)
			overdone()
			return
		}
		note("shape", WHY)
	}
	if (blocks()) KEYED = KEYED " " index_in_chunk
	runs()
	overdone()
}

function overdone() {
	if (DECODED > 1000000) note("cut", "more base64 than is decoded")
}

# slurp reads the lines of a file into L[1..N]. A file whose bytes are not all
# in its lines holds NUL bytes, or is being written. Not every awk keeps NUL, but
# DER always holds other control characters too.
function slurp(name, size,   line, r, total) {
	split("", L)
	N = total = 0
	while ((r = (getline line < name)) > 0) {
		L[++N] = line
		if (N > 200000) {
			close(name)
			return "more than 200,000 lines"
		}
		if (N < 50 && line ~ /[\001-\010\016-\037\177]/) {
			close(name)
			return "binary"
		}
		total += length(line) + 1
		if (total > size + 1) break
	}
	close(name)
	if (r < 0) return "can not be opened or read"
	TERMINATED = (total == size)
	return total == size || total == size + 1 ? "" : "binary"
}

# ---- PEM blocks in text -----------------------------------------------------

# blocks sends every block of a harmless kind, and says of all others what they
# are, where and how long. It returns whether there was a private key.
#
# Readers differ in how tolerant they are, so this is: BEGIN may stand anywhere
# in a line, and newlines be written as \n or %0A.
#
# Of what is not in a block it tells what stands on the line of one, and whether a line
# before the first is more than a comment. All else are whole lines.
function blocks(   i, p, offset, rest, b, e, label, keyed, records, told, other) {
	keyed = records = 0
	offset = 0 # of line i
	told = 0 # bytes of line i
	other = ""
	i = p = 1
	while (i <= N) {
		rest = substr(L[i], p, 65536)
		b = begins(rest)
		if (!b && p + 65536 <= length(L[i])) { # a long line: a piece at a time
			p += 65500
			continue
		}
		if (!b) {
			if (told) gap(offset + told, substr(L[i], told + 1))
			else if (other == "" && L[i] !~ /^[ \t\r"\047\\]*(#.*)?$/) other = offset " " length(L[i]) " x"
			offset += length(L[i]) + 1
			i++
			p = 1
			told = 0
			continue
		}
		p += b - 1
		rest = substr(L[i], p + HEADLEN, 80)
		gsub(/%20/, " ", rest)
		e = index(rest, "-----")
		label = substr(rest, 1, e - 1)
		if (++records > 2000) {
			note("cut", "more than 2000 blocks")
			if (told) gap(offset + told, substr(L[i], told + 1))
			return keyed
		}
		if (!e || label !~ /^[A-Z0-9 ]+$/ && !(label = lineLabel(i, p))) {
			p += HEADLEN
			continue
		}
		if (other != "" && other != "told") print "gap " other
		other = "told"
		gap(offset + told, substr(L[i], told + 1, p - told - 1))
		block(i, p, label)
		if (label ~ /PRIVATE KEY$/) {
			keyed = 1
			print "key " (offset + p - 1) " " BLEN " " (BBODY ~ /ENCRYPTED/ || label ~ /ENCRYPTED/) " " form(label) " " field(label in LABEL ? label : "PRIVATE KEY")
		} else if (!BOPEN && label in LABEL && (WHY = harmless(compact(BBODY), label)) == "") {
			segment(offset + p - 1, BLEN, BESC)
		} else {
			print "bad " (offset + p - 1) " " BLEN " " form(label) " " field(label in LABEL ? label : "unknown") " " (!(label in LABEL) ? "a kind of block that is not sent" : BOPEN ? "has no END line" : WHY)
		}
		while (i < BLINE) offset += length(L[i++]) + 1
		p = BNEXT
		told = p - 1
	}
	return keyed
}

# begins finds the next BEGIN, which may have %20 for its space.
function begins(s,   k, kk) {
	HEADLEN = 11
	k = index(s, "-----BEGIN ")
	kk = index(s, "-----BEGIN%20")
	if (!kk || k && k < kk) return k
	HEADLEN = 13
	return kk
}

# block cuts the block that begins at position p of line i. BBODY is what stands
# between BEGIN and END, BESC the whole of it, BLEN its length; BLINE and BNEXT
# are where it stops. BOPEN says that it stops without END.
function block(i, p, label,   cur, tag, k, b, t, head) {
	tag = "-----END " label "-----"
	head = HEADLEN
	cur = substr(L[i], p, 8192) # of a line of 4 MB that holds thousands
	if (length(cur) == 8192 && !endof(cur, tag) && !begins(substr(cur, head + 1))) cur = substr(L[i], p, 200000)
	t = index(substr(cur, head + 1), "-----") + head + 5 # behind the BEGIN line
	BBODY = ""
	BESC = esc(substr(cur, 1, t - 1))
	BLEN = t - 1
	BHEAD = head
	BOPEN = 0
	cur = substr(cur, t)
	BNEXT = p + t - 1
	for (BLINE = i; ; ) {
		b = begins(cur)
		k = endof(cur, tag)
		if (k && (!b || k < b)) {
			BBODY = BBODY substr(cur, 1, k - 1)
			BESC = BESC esc(substr(cur, 1, k - 1 + TAGLEN))
			BLEN += k - 1 + TAGLEN
			BNEXT += k - 1 + TAGLEN
			return
		}
		if (b || BLINE == N || length(BBODY) > 200000 || BLINE - i > 5000 || length(cur) > 190000) {
			if (b) cur = substr(cur, 1, b - 1)
			BOPEN = 1
			BBODY = BBODY cur "\n"
			BLEN += length(cur) - (b == 1 && BLINE > i) # without the newline before the next
			BNEXT += length(cur)
			return
		}
		BBODY = BBODY cur "\n"
		BESC = BESC esc(cur) "%0A"
		BLEN += length(cur) + 1
		cur = substr(L[++BLINE], 1, 200000)
		BNEXT = 1
	}
}

# lineLabel returns the label of a BEGIN line that is a whole line, to readers that know of
# no labels; nothing where there is none.
function lineLabel(i, p,   s) {
	s = substr(L[i], p + HEADLEN, 400)
	if (HEADLEN != 11 || p > 1 && substr(L[i], 1, p - 1) != BOM || length(s) == 400 || !sub(/-----[\001-\040\200-\377]*$/, "", s)) return ""
	return s
}

# form says of the block that was cut, and stays here, what its lines are to readers of
# PEM: so they stop at it, or go on. None of its bytes is told.
function form(label,   n, i, s, line, flat, loose) {
	n = split(BBODY, line, "\n") # the first one is the rest of the BEGIN line
	if (BHEAD != 11) return "inline"
	if (n == 1) return "oneline"
	if (line[1] ~ /^[\001-\040\200-\377]*[\200-\377][\001-\040\200-\377]*$/) return "tail"
	if (line[1] ~ /[^\001-\040]/) return line[1] ~ /-----[\001-\040]*$/ ? "oneline" : "inline"
	if (BOPEN || TAGLEN != length("-----END " label "-----")) return "open"
	if (line[n] != "") return "glued"
	if (n == 2) return "empty"
	flat = loose = ""
	for (i = 2; i < n; i++) {
		s = line[i]
		if (s ~ /[^A-Za-z0-9+\/=]/) {
			if (index(s, ":")) return i == 2 ? "headers" : "damaged"
			if (s ~ /[^A-Za-z0-9+\/= \t\r]/) return "damaged"
			sub(/[ \t\r]+$/, "", s)
			sub(/^[ \t]+/, "", s)
			if (gsub(/[ \t\r]/, "", s)) loose = "loose"
		}
		if (s == "" || length(line[i]) > 253) loose = "loose"
		flat = flat s
	}
	if (flat == "" && loose) return loose
	if (flat !~ /^[A-Za-z0-9+\/]+=?=?$/ || length(flat) % 4) return "damaged"
	return loose ? loose : keeps(flat, label) ? "sound" : "misfit"
}

# keeps tells whether base64 is what its label says, of the labels behind which readers
# look: of keys, as far as the elements of their DER and the names of algorithms say. A
# certificate that stays is none that can be judged here.
function keeps(s, label,   n) {
	if (label == "ENCRYPTED PRIVATE KEY" || label !~ /^(TRUSTED CERTIFICATE|X509 CERTIFICATE|CERTIFICATE|X509 CRL)$|PRIVATE KEY$/) return 1
	n = length(s) / 4 * 3 - (s ~ /==$/ ? 2 : s ~ /=$/ ? 1 : 0)
	element(s, 0)
	if (TAG != 48 || BEHIND != n) return 0
	if (label == "RSA PRIVATE KEY") return rsakey(s)
	if (label == "EC PRIVATE KEY") return eckey(s, "")
	return label == "PRIVATE KEY" && pkcs8(s)
}

# rsakey tells whether the present element is a key of PKCS#1.
function rsakey(s) {
	return TAG == 48 && elements(s) == "2 2 2 2 2 2 2 2 2 " && octet(s, AT[1] + 1) == 1 && octet(s, AT[1] + 2) == 0
}

# eckey tells whether the present element is a key of SEC 1, on a curve that is named in
# it or before it.
function eckey(s, curve,   kinds) {
	kinds = TAG == 48 ? elements(s) : ""
	if (kinds !~ /^2 4 (160 )?(161 )?$/) return 0
	if (kinds ~ / 160 /) {
		element(s, AT[3])
		if (elements(s) != "6 ") return 0
		curve = hex(s, AT[1])
	}
	return curve ~ /^(2a8648ce3d030107|2b81040021|2b81040022|2b81040023)$/
}

# pkcs8 tells whether the present element is a key of PKCS#8, of RSA, EC or Ed25519.
function pkcs8(s,   algorithm, inside, until, kinds, name, curve) {
	if (elements(s) !~ /^2 48 4 (160 )?(161 )?$/) return 0
	algorithm = AT[2]
	element(s, AT[3])
	inside = INSIDE
	until = BEHIND
	element(s, algorithm)
	kinds = elements(s)
	name = hex(s, AT[1])
	curve = kinds == "6 6 " ? hex(s, AT[2]) : ""
	element(s, inside)
	if (BEHIND != until) return 0
	if (name == "2a864886f70d010101") return kinds ~ /^6 (5 )?$/ && rsakey(s)
	if (name == "2a8648ce3d0201") return eckey(s, curve)
	return name == "2b6570" && kinds == "6 " && TAG == 4 && BEHIND - INSIDE == 32
}

# element reads which element of DER begins at a byte: TAG, where its content begins,
# and the byte behind it.
function element(s, at,   n, len) {
	TAG = octet(s, at)
	n = octet(s, at + 1)
	INSIDE = at + 2
	len = n
	if (n > 127) {
		n -= 128
		if (n > 4) n = 4
		for (len = 0; n > 0; n--) len = len * 256 + octet(s, INSIDE++)
	}
	BEHIND = INSIDE + len
}

# elements are the kinds of the elements that the present one holds, and AT where each
# begins; nothing where they do not fill it.
function elements(s,   until, kinds, n, tag) {
	until = BEHIND
	tag = TAG
	kinds = ""
	for (BEHIND = INSIDE; BEHIND < until && n < 12; kinds = kinds TAG " ") {
		AT[++n] = BEHIND
		element(s, BEHIND)
	}
	n = BEHIND == until
	TAG = tag
	return n ? kinds : ""
}

# hex is the content of a short element.
function hex(s, at,   out) {
	element(s, at)
	for (out = ""; INSIDE < BEHIND && length(out) < 40; INSIDE++) out = out sprintf("%02x", octet(s, INSIDE))
	return out
}

# octet is a byte of what base64 is.
function octet(s, at,   r) {
	r = at % 3
	at = (at - r) / 3 * 4 + r + 1
	if (r == 0) return B64[substr(s, at, 1)] * 4 + int(B64[substr(s, at + 1, 1)] / 16)
	if (r == 1) return B64[substr(s, at, 1)] % 16 * 16 + int(B64[substr(s, at + 1, 1)] / 4)
	return B64[substr(s, at, 1)] % 4 * 64 + B64[substr(s, at + 1, 1)]
}

# endof finds the END line, also with %20 for its spaces.
function endof(s, tag,   k) {
	TAGLEN = length(tag)
	if ((k = index(s, tag)) || !index(s, "-----END%20")) return k
	gsub(/ /, "%20", tag)
	TAGLEN = length(tag)
	return index(s, tag)
}

# compact drops from the body of a block what is not base64, escapes undone; it
# returns nothing if there is anything else in it.
function compact(s) {
	gsub(/\\+[nrt]/, "", s)
	if (index(s, "%")) {
		gsub(/%0[AaDd9]|%20/, "", s)
		gsub(/%2[Bb]/, "+", s)
		gsub(/%2[Ff]/, "/", s)
		gsub(/%3[Dd]/, "=", s)
	}
	gsub(/[ \t\r\n]/, "", s)
	return s ~ /^[A-Za-z0-9+\/]+=*$/ ? s : ""
}

# harmless tells whether base64 is the DER of what the label says, and of
# nothing more. A key under the label of a certificate stays here.
function harmless(s, label,   bytes, head, i, n) {
	if (label ~ /PKCS7|CMS|TRUSTED|KEY|PARAMETERS/) return "a kind of block that is not sent"
	if (s == "") return "is not base64"
	n = length(s)
	sub(/=+$/, "", s)
	bytes = int(length(s) * 3 / 4)
	split("", head)
	for (i = 0; i < 6; i++) sixtet(s, i * 4 + 1, head, i * 3)
	return shape(head, bytes)
}

function sixtet(s, at, head, to,   v) {
	v = B64[substr(s, at, 1)] * 262144 + B64[substr(s, at + 1, 1)] * 4096 + B64[substr(s, at + 2, 1)] * 64 + B64[substr(s, at + 3, 1)]
	head[to] = int(v / 65536)
	head[to + 1] = int(v / 256) % 256
	head[to + 2] = v % 256
}

# shape looks at the first bytes of DER. Certificates, requests and revocation
# lists are a sequence that starts with a sequence that starts with a number, a
# version or a sequence; private keys, PKCS#8, PKCS#12 and PKCS#7 are not.
function shape(head, bytes,   i, len) {
	if (head[0] != 48) return "does not start as DER does"
	len = head[1]
	i = 2
	if (len == 129) { len = head[2]; i = 3 }
	else if (len == 130) { len = head[2] * 256 + head[3]; i = 4 }
	else if (len == 131) { len = (head[2] * 256 + head[3]) * 256 + head[4]; i = 5 }
	else if (len > 127) return "has a length that DER does not have"
	if (len + i != bytes) return "has " bytes " bytes where its DER says " (len + i)
	if (head[i] != 48) return "is not the DER of a certificate"
	i += head[i + 1] < 128 ? 2 : head[i + 1] - 126
	return head[i] == 160 || head[i] == 2 || head[i] == 48 ? "" : "is not the DER of a certificate"
}

# ---- certificates in base64 -------------------------------------------------

# runs sends stretches of base64 in text that decode to certificates, as in
# MachineConfigs and manifests.
function runs(   i, offset, line, p, k, kk, j, run, part, records) {
	offset = records = 0
	for (i = 1; i <= N; i++) {
		line = L[i]
		p = 0 # what is behind us
		while (length(line) - p > 400) {
			k = 0
			part = substr(line, p + 1, 65536)
			for (j = 1; j <= 3; j++) {
				kk = index(part, RUN[j])
				if (kk && (!k || kk < k)) k = kk
			}
			if (!k && p + 65536 < length(line)) { # a long line: a piece at a time
				p += 65500
				continue
			}
			if (!k) break
			k += p
			for (j = k; j > p + 1 && k - j < 4000 && substr(line, j - 1, 1) ~ /[A-Za-z0-9+\/]/; ) j--
			if (++records > 2000 || DECODED > 1000000) {
				if (records > 2000) note("cut", "more than 2000 pieces of base64")
				return
			}
			match(substr(line, k, 1000000), /^[A-Za-z0-9+\/]+=?=?/)
			run = substr(line, j, k - j + RLENGTH)
			if (certificates(run)) segment(offset + j - 1, length(run), CLEAN)
			p = k + RLENGTH - 1
		}
		offset += length(line) + 1
	}
}

# certificates tells whether base64 decodes to PEM certificates and nothing
# else: comments and blank lines beside them are all that is tolerated. CLEAN is the
# same base64, of the same length, of the text with its comments masked.
function certificates(s,   i, j, n, v, line, a, b, c, k, byte, at, padding) {
	n = length(s)
	sub(/=+$/, "", s)
	padding = substr("==", 1, n - length(s))
	n = length(s)
	DECODED += n # this is slow in some awks
	if (n < 100 || n % 4 == 1 || DECODED > 1000000 || s ~ /[^A-Za-z0-9+\/]/) return 0
	if (length(padding) > 2) return 0
	PEMIN = PEMCOUNT = REMARKS = at = 0
	line = ""
	for (i = 1; i <= n; i += 4) {
		v = B64[substr(s, i, 1)] * 262144 + B64[substr(s, i + 1, 1)] * 4096 + B64[substr(s, i + 2, 1)] * 64 + B64[substr(s, i + 3, 1)]
		a = int(v / 65536)
		b = int(v / 256) % 256
		c = v % 256
		if (a > 31 && b > 31 && c > 31 && i + 3 <= n) {
			line = line CH[a] CH[b] CH[c]
		} else {
			k = i + 3 <= n ? 3 : n - i # a last group of 2 or 3 characters is 1 or 2 bytes
			for (j = 1; j <= k; j++) {
				byte = j == 1 ? a : j == 2 ? b : c
				if (byte == 10) {
					if (!pemline(line, at)) return 0
					line = ""
					at = (i - 1) / 4 * 3 + j
				} else if (byte == 13 || byte == 9 || byte > 31) {
					line = line CH[byte]
				} else return 0
			}
		}
		if (length(line) > 8192) return 0
	}
	if (!pemline(line, at) || PEMIN || !PEMCOUNT) return 0
	CLEAN = remarked(s) padding
	return 1
}

# pemline reads a line that begins at this byte of the text.
function pemline(line, at) {
	sub(/[ \t\r]+$/, "", line)
	if (PEMIN) {
		if (line == "-----END CERTIFICATE-----") {
			PEMIN = 0
			PEMCOUNT++
			return harmless(PEMBODY, "CERTIFICATE") == ""
		}
		if (line ~ /[^A-Za-z0-9+\/=]/) return 0
		PEMBODY = PEMBODY line
		return length(PEMBODY) < 200000
	}
	if (line == "-----BEGIN CERTIFICATE-----") {
		PEMIN = 1
		PEMBODY = ""
		return 1
	}
	if (line == "") return 1
	if (substr(line, 1, 1) != "#" || index(line, "-----")) return 0
	if (length(line) == 1) return 1
	FROM[++REMARKS] = at + 1
	UNTIL[REMARKS] = at + length(line)
	return 1
}

# remarked masks, in base64, the bytes FROM to UNTIL of each comment. Between two comments
# are a newline and a sign: no group of four characters belongs to both.
function remarked(s,   r, g, last, done, out) {
	out = ""
	done = 0 # characters of s
	for (r = 1; r <= REMARKS; r++) {
		g = int(FROM[r] / 3)
		last = int((UNTIL[r] - 1) / 3)
		out = out substr(s, done + 1, g * 4 - done)
		for (; g <= last; g++) out = out covered(substr(s, g * 4 + 1, 4), FROM[r] - g * 3, UNTIL[r] - g * 3)
		done = (last + 1) * 4
	}
	return out substr(s, done + 1)
}

# covered overwrites the bytes from up to below until of those that a group of base64 is.
function covered(q, from, until,   bytes, b, j, n) {
	sixtet(q, 1, b, 0)
	bytes = length(q) - 1
	for (j = 0; j < 3; j++) b[j] = j >= bytes ? 0 : j >= from && j < until ? 120 : b[j]
	n = (b[0] * 256 + b[1]) * 256 + b[2]
	return substr(substr(ALPHABET, int(n / 262144) + 1, 1) substr(ALPHABET, int(n / 4096) % 64 + 1, 1) substr(ALPHABET, int(n / 64) % 64 + 1, 1) substr(ALPHABET, n % 64 + 1, 1), 1, length(q))
}
