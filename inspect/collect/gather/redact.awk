
# ---- redaction --------------------------------------------------------------
#
# What looks like a kubeconfig or the kubelet configuration is parsed by a small
# and strict reader of YAML and JSON, line by line, into OUT: lines of the same
# length in which only structure, known keys and the values of KEEP are left.
# Anything that the reader is not sure about (anchors, tags, tabs, keys of
# unusual shape, indentation that fits nowhere) ends the reading: then nothing
# of the text is sent.

# kubeish decides whether it is worth trying.
function kubeish(   i, line, clusters, others) {
	clusters = others = 0
	for (i = 1; i <= N; i++) {
		line = L[i]
		if (index(line, "certificate-authority-data") || index(line, "client-key-data") || index(line, "client-certificate-data") || index(line, "KubeletConfiguration")) return 1
		if (index(line, "clusters")) clusters = 1
		if (index(line, "users") || index(line, "contexts")) others = 1
	}
	return clusters && others
}

# whole sends the redacted text.
function whole(size,   i, len) {
	note("redacted", "")
	len = 0
	for (i = 1; i <= N; i++) {
		OUT[i] = esc(OUT[i])
		len += length(OUT[i]) + 3
	}
	BUDGET -= len
	if (BUDGET < 0) {
		note("omitted", "no room left in the output")
		return
	}
	printf "seg 0 %d ", size
	for (i = 1; i <= N; i++) printf "%s%s", OUT[i], (i < N || TERMINATED ? "%0A" : "")
	print ""
}

function fail(why) {
	if (WHY == "") WHY = "line " LINE ": " why
	return ""
}

function redact(   i, t, cr) {
	split("", OUT)
	WHY = mode = ""
	LINE = 0
	if (N > 100000) {
		fail("too many lines")
		return 0
	}
	plain = KUBE = work = fdepth = 0
	fresh()
	for (i = 1; i <= N; i++) {
		LINE = i
		t = L[i]
		cr = sub(/\r$/, "", t) ? "\r" : ""
		# what YAML takes for a line break, or forbids
		if (t ~ /[\001-\010\013-\037\177]/ || index(t, "\302\205") || index(t, "\342\200\250") || index(t, "\342\200\251") || index(t, "\357\273\277")) fail("control characters")
		else OUT[i] = read_line(t) cr
		if (WHY == "" && length(OUT[i]) != length(L[i])) fail("a mask of another length")
		if (WHY == "" && index(OUT[i], "PRIVATE")) fail("a private key in an unusual place")
		if (WHY != "") return 0
	}
	if (mode == "block") end_block()
	if (mode == "quote" || mode == "flow") fail("the text is cut off inside a value")
	if (WHY == "" && !KUBE) fail("neither a kubeconfig nor a kubelet configuration")
	return WHY == ""
}

# fresh starts a document: nothing is open, and its root is awaited.
function fresh() {
	depth = plain = 0
	pending = 1
	pendpath = ""
}

function read_line(t,   ind, rest) {
	if (mode == "flow") return flow(t, 1)
	match(t, /^ */)
	ind = RLENGTH
	rest = substr(t, ind + 1)
	if (mode == "quote") return substr(t, 1, ind) quoted_on(rest)
	if (mode == "block") {
		if (rest == "" || ind > blockind) {
			if (rest ~ /[^A-Za-z0-9+\/=]/) blockdata = "-"
			else blockdata = blockdata rest
			blocklast = LINE
			return substr(t, 1, ind) x(length(rest))
		}
		end_block()
	}
	if (rest == "") return t
	if (substr(rest, 1, 1) == "#") return substr(t, 1, ind) comment(rest)
	if (index(t, "\t")) return fail("a tab")
	if (ind == 0 && rest ~ /^(---|\.\.\.)( *| +#.*)$/) {
		fresh()
		return substr(t, 1, 3) remark(substr(t, 4))
	}
	if (depth == 0 && pending && rest ~ /^[{[]/) {
		pending = 0
		return substr(t, 1, ind) start_flow(t, ind + 1, "")
	}
	return node(t, ind)
}

# node reads "- " markers, then a key or a scalar.
function node(t, col,   o, n, item, itemcol, rest, key, len, P) {
	o = substr(t, 1, col)
	item = 0
	while (substr(t, col + 1) ~ /^-( |$)/) {
		if (!open(col, "s")) return ""
		pending = 1
		pendpath = path[depth] "[]"
		item = 1
		itemcol = col
		match(substr(t, col + 2), /^ */)
		n = RLENGTH
		o = o "-" substr(t, col + 2, n)
		col += 1 + n
		if (col >= length(t)) return o
	}
	rest = substr(t, col + 1)
	if (item && substr(rest, 1, 1) == "#") return o comment(rest)
	len = 0
	if (match(rest, /^[A-Za-z0-9_.\/][A-Za-z0-9_.\/-]*:( |$)/)) {
		len = index(rest, ":")
		key = substr(rest, 1, len - 1)
		o = o keytext(key) ":"
	} else if (match(rest, /^"[A-Za-z0-9_.\/ -]*" *:( |$)/) || match(rest, /^\047[A-Za-z0-9_.\/ -]*\047 *:( |$)/)) {
		len = index(rest, ":")
		n = 1 + index(substr(rest, 2), substr(rest, 1, 1))
		key = substr(rest, 2, n - 2)
		o = o substr(rest, 1, 1) keytext(key) substr(rest, n, len - n + 1)
	}
	if (len) {
		if (!open(col, "m")) return ""
		P = path[depth] "." key
		if (P == ".clusters" || P == ".users" || P == ".contexts") KUBE = 1
		match(substr(rest, len + 1), /^ */)
		return o substr(rest, len + 1, RLENGTH) value(t, col + len + RLENGTH + 1, P, ind[depth])
	}
	if (item) {
		pending = 0
		return o value(t, col + 1, pendpath, itemcol)
	}
	if (plain && col > plainind && rest !~ /: |:$/) return o x(length(rest))
	return fail("neither a key nor an item")
}

function keytext(key) { return key in KNOWN ? key : x(length(key)) }

# open makes sure that the innermost collection is one of the given type at the
# given column.
function open(col, type) {
	plain = 0
	for (;;) {
		if (depth > 0 && ind[depth] > col) {
			depth--
			pending = 0
		} else if (depth > 0 && ind[depth] == col && typ[depth] == type) {
			pending = 0
			return 1
		} else if (depth > 0 && ind[depth] == col && typ[depth] == "s") {
			depth--
			pending = 0
		} else break
	}
	# What is left is deeper than all that is open, or a sequence that stands
	# right below its key: something must be waiting for it.
	if (!pending || depth >= 50) {
		fail("indentation that fits nowhere")
		return 0
	}
	pending = 0
	depth++
	ind[depth] = col
	typ[depth] = type
	path[depth] = pendpath
	return 1
}

# value reads what follows a key or "- ", from position p on.
function value(t, p, P, parent,   v, c, k, tail) {
	v = substr(t, p)
	c = substr(v, 1, 1)
	plain = 0
	if (v == "" || c == "#") {
		pending = 1
		pendpath = P
		return comment(v)
	}
	pending = 0
	if (v ~ /^[|>][0-9+-]*( *| +#.*)$/) {
		mode = "block"
		blockind = parent
		blockpath = P
		blockdata = ""
		blockfirst = LINE + 1
		blocklast = LINE
		match(v, /^[|>][0-9+-]*/)
		return substr(v, 1, RLENGTH) remark(substr(v, RLENGTH + 1))
	}
	if (c == "\"" || c == "\047") {
		k = closing(substr(v, 2), c)
		if (k) return c put(P, substr(v, 2, k - 1)) c remark(substr(v, k + 2))
		mode = "quote"
		quote = c
		return c x(length(v) - 1)
	}
	if (c == "{" || c == "[") return start_flow(t, p, P)
	if (v ~ /^[]},|>&*!%@`]/ || v ~ /^[?:-]( |$)/) return fail("an anchor, a tag or a sign that is not read here")
	tail = ""
	if (k = index(v, " #")) {
		tail = substr(v, k)
		v = substr(v, 1, k - 1)
	}
	match(v, / *$/)
	tail = substr(v, RSTART) tail
	v = substr(v, 1, RSTART - 1)
	if (v ~ /: |:$/) return fail("a key where a value was expected")
	plain = 1
	plainind = parent
	return unquoted(P, v) remark(tail)
}

# comment masks a comment, remark what may follow a value: spaces, a comment.
function comment(s) { return s == "" ? "" : "#" x(length(s) - 1) }

function remark(s) {
	match(s, /^ */)
	if (RLENGTH == length(s)) return s
	if (RLENGTH == 0 || substr(s, RLENGTH + 1, 1) != "#") return fail("text behind a value")
	return substr(s, 1, RLENGTH) comment(substr(s, RLENGTH + 1))
}

# quoted_on reads the further lines of a quoted value.
function quoted_on(s,   k) {
	k = closing(s, quote)
	if (!k) return x(length(s))
	mode = ""
	return x(k - 1) quote remark(substr(s, k + 1))
}

# end_block decides about the lines of a block scalar: certificates may leave.
function end_block(   i, p, n, t, cr) {
	mode = ""
	if (blocklast >= blockfirst && blockpath ~ /^\.(clusters|users)\[\]\.(cluster|user)\.[a-z-]*-data$/ && !base64(blockdata)) {
		t = OUT[blocklast]
		if (t ~ /x\r?$/) OUT[blocklast] = substr(t, 1, match(t, /x\r?$/) - 1) "!" (t ~ /\r$/ ? "\r" : "")
	}
	if (!(blockpath in KEEP) || KEEP[blockpath] != "cert" || !certificates(blockdata)) return
	p = 1
	for (i = blockfirst; i <= blocklast; i++) {
		t = L[i]
		cr = sub(/\r$/, "", t) ? "\r" : ""
		match(t, /^ */)
		n = length(t) - RLENGTH
		OUT[i] = substr(t, 1, RLENGTH) substr(CLEAN, p, n) cr
		p += n
	}
}

# closing returns where the quoted text that s begins with ends; 0: not here.
function closing(s, q,   p, k, b) {
	p = 0
	for (;;) {
		work += length(s) - p
		if (work > 100000000) {
			fail("too long")
			return 0
		}
		k = index(substr(s, p + 1), q)
		if (!k) return 0
		k += p
		if (q == "\047") {
			if (substr(s, k + 1, 1) != q) return k
			p = k + 1
			continue
		}
		for (b = k - 1; b > 0 && substr(s, b, 1) == "\\"; ) b--
		if ((k - 1 - b) % 2 == 0) return k
		p = k
	}
}

# ---- JSON and flow collections ----------------------------------------------

function start_flow(t, p, P) {
	mode = "flow"
	fdepth = 0
	fnext = P
	return flow(t, p)
}

function flow_open(c) {
	fdepth++
	ftype[fdepth] = c
	fpath[fdepth] = fnext
	fstate[fdepth] = c == "{" ? "key" : "value"
}

# flow reads from position p to the end of the line, or of the collection.
function flow(t, p,   o, rest, c, s, n, tok) {
	o = ""
	for (;;) {
		rest = substr(t, p)
		work += length(rest)
		if (work > 100000000 || fdepth > 50) return fail("too long or too deep")
		if (match(rest, /^[ \t]+/)) {
			o = o substr(rest, 1, RLENGTH)
			p += RLENGTH
			rest = substr(rest, RLENGTH + 1)
		}
		if (rest == "") return o
		c = substr(rest, 1, 1)
		if (fdepth == 0 && o !~ /[^ \t]/) { # the collection itself
			flow_open(c)
			o = o c
			p++
			continue
		}
		s = fstate[fdepth]
		n = 1
		if ((c == "{" || c == "[") && s == "value") {
			fnext = flow_path()
			fstate[fdepth] = "comma"
			flow_open(c)
			tok = c
		} else if (c == "}" && ftype[fdepth] == "{" && (s == "key" || s == "comma") || c == "]" && ftype[fdepth] == "[" && (s == "value" || s == "comma")) {
			fdepth--
			tok = c
			if (fdepth == 0) {
				mode = ""
				return o c remark_tab(substr(rest, 2))
			}
		} else if (c == "," && s == "comma") {
			fstate[fdepth] = ftype[fdepth] == "{" ? "key" : "value"
			tok = c
		} else if (c == ":" && s == "colon") {
			fstate[fdepth] = "value"
			tok = c
		} else if ((c == "\"" || c == "\047") && (s == "key" || s == "value")) {
			n = closing(substr(rest, 2), c)
			if (!n) return fail("a quoted value over several lines")
			tok = c flow_scalar(substr(rest, 2, n - 1), 1) c
			n++
		} else if ((s == "key" || s == "value") && match(rest, /^[^][{},"\047#&*!|>%@`?: \t][^][{},\t"\047#]*/)) {
			tok = substr(rest, 1, RLENGTH)
			if (n = match(tok, /:( |$)/)) tok = substr(tok, 1, n - 1)
			sub(/ +$/, "", tok)
			if (tok == "-" || tok ~ /^- / || n && s == "value") return fail("a sign that is not read here")
			n = length(tok)
			tok = flow_scalar(tok, 0)
		} else return fail("a sign that fits nowhere")
		if (WHY != "") return ""
		o = o tok
		p += n
	}
}

# remark_tab is remark, for JSON, where tabs are blanks.
function remark_tab(s) { return s ~ /^[ \t]*$/ ? s : remark(s) }

function flow_path() { return ftype[fdepth] == "{" ? fpath[fdepth] "." fkey[fdepth] : fpath[fdepth] "[]" }

function flow_scalar(text, quoted) {
	if (fstate[fdepth] == "key") {
		fstate[fdepth] = "colon"
		fkey[fdepth] = text ~ /^[A-Za-z0-9_.\/-]+$/ ? text : "?"
		if (fpath[fdepth] == "" && fdepth == 1 && (text == "clusters" || text == "users" || text == "contexts")) KUBE = 1
		return keytext(text)
	}
	fstate[fdepth] = "comma"
	return quoted ? put(flow_path(), text) : unquoted(flow_path(), text)
}

# ---- values -----------------------------------------------------------------

# typed tells whether a value without quotes is a number to YAML, or true, false or nothing.
# ones is its mask: of this it is told that it is no text, for which clients refuse the file.
function typed(v) {
	return v ~ /^[-+]?[.0-9][0-9_.]*([eE][-+]?[0-9]+)?$/ || v ~ /^[-+]?0[xXbBoO][0-9a-fA-F_]+$/ || v ~ /^[-+]?\.(inf|Inf|INF|nan|NaN|NAN)$/ || v ~ /^([Tt]rue|TRUE|[Ff]alse|FALSE|[Yy]es|YES|[Nn]o|NO|[Oo]n|ON|[Oo]ff|OFF|[yYnN]|[Nn]ull|NULL|~)$/
}

function unquoted(P, v,   o) {
	o = put(P, v)
	return o != v && typed(v) ? ones(v) : o
}

function ones(v) {
	if (v ~ /^(true|false|null|~)$/) return v
	gsub(/./, "1", v)
	return v
}

# base64 tells whether Go decodes a value; what is put for one that it does not decode is
# damaged, too.
function base64(v) { return v ~ /^[A-Za-z0-9+\/]*=?=?$/ && length(v) % 4 == 0 }

function damaged(v) { return length(v) > 1 ? x(length(v) - 1) "!" : x(length(v)) }

# put returns a value if it may leave, else its mask.
function put(P, v,   kind) {
	if (P == ".kind" && v == "KubeletConfiguration") KUBE = 1
	kind = P in KEEP ? KEEP[P] : ""
	if (kind == "cert" && certificates(v)) return CLEAN
	if (P ~ /^\.(clusters|users)\[\]\.(cluster|user)\.[a-z-]*-data$/) return base64(v) ? x(length(v)) : damaged(v)
	if (kind == "url") return url(v)
	return fits(kind, v) ? v : x(length(v))
}

# fits tells whether a value has the shape that its place demands. Something
# else, such as a token, may stand there by mistake.
function fits(kind, v) {
	if (kind == "bool") return v ~ /^(true|false|[Yy]es|YES|[Nn]o|NO|[Oo]n|ON|[Oo]ff|OFF|True|TRUE|False|FALSE)$/
	if (kind == "" || length(v) > 253 || v ~ RUN32 || v ~ /^eyJ/ || v ~ /sha256~/) return 0
	if (kind == "name") return v ~ /^[A-Za-z0-9][A-Za-z0-9._:\/@+-]*$/
	if (kind == "path") return v ~ /^(\/|\.\.?\/)[A-Za-z0-9_.@:\/-]*$/ || v ~ /^[A-Za-z0-9_.-]+\.(crt|pem|key|cer|cert)$/
	return 0
}

# url keeps an address; a user and a password before the host are masked. multus puts
# brackets around names, too.
function url(v,   n, at, rest) {
	n = match(v, /^(https?|socks5):\/\//) ? RLENGTH : 0
	rest = substr(v, n + 1)
	at = 0
	while (index(substr(rest, at + 1), "@")) at += index(substr(rest, at + 1), "@")
	if (!n || length(v) > 253 || substr(rest, at + 1) !~ /^[A-Za-z0-9.:_\/-]+$/ && substr(rest, at + 1) !~ /^\[[A-Za-z0-9.:_-]+\][A-Za-z0-9:_\/-]*$/ || substr(rest, at + 1) ~ RUN32) return x(length(v))
	return substr(v, 1, n) x(at - 1) (at ? "@" : "") substr(rest, at + 1)
}
