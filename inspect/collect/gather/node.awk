
# ---- the rest of the node ---------------------------------------------------

# der reads a small binary file as od prints it, and sends it if it is exactly
# one certificate, request or revocation list.
function der(sum,   line, part, n, i, bytes, head, text) {
	bytes = 0
	text = ""
	while ((getline line) > 0) {
		n = split(line, part, " ")
		for (i = 1; i <= n; i++) {
			if (!(part[i] in HEX)) exit 4
			if (bytes < 18) head[bytes] = HEX[part[i]]
			bytes++
			text = text "%" part[i]
		}
	}
	print "more " sum " binary"
	if (bytes > 18 && shape(head, bytes) == "") print "seg 0 " bytes " " text
	else if (head[0] == 48 && head[1] == 130 && head[4] == 2 && head[6] == 3) note("binary", "looks like PKCS#12, which is not read")
	else if (head[0] == 254 && head[1] == 237 && head[2] == 254 && head[3] == 237 || head[0] == 206 && head[1] == 206) note("binary", "looks like a Java keystore, which is not read")
	else if (head[0] == 48) note("binary", "DER that is not a certificate, or more than one")
	else note("binary", "not text")
}

# flags reads a command line, one argument a line. Values leave for known flags
# only.
function flags(   line, flag, k, first, open_flag) {
	first = 1
	open_flag = ""
	while ((getline line) > 0) {
		if (first) {
			first = 0
			print "flag . " field(fits("path", line) ? line : "-") " 1"
			continue
		}
		if (open_flag != "" && line !~ /^-/) {
			show(open_flag, line)
			open_flag = ""
			continue
		}
		if (open_flag != "") print "flag " open_flag " - 1"
		open_flag = ""
		if (line !~ /^--?[A-Za-z0-9-]+(=|$)/ || length(line) > 60 && !index(line, "=")) {
			print "flag ? - 0"
			continue
		}
		k = index(line, "=")
		flag = k ? substr(line, 1, k - 1) : line
		sub(/^--?/, "", flag)
		if (k) show(flag, substr(line, k + 1))
		else open_flag = flag
	}
	if (open_flag != "") print "flag " open_flag " - 1"
}

function show(flag, v) {
	if (flag in FLAG && fits(FLAG[flag], v)) print "flag " flag " " field(v) " 1"
	else print "flag " flag " - 0"
}

# pairs passes on KEY=VALUE lines.
function pairs(word,   line, k) {
	while ((getline line) > 0)
		if (k = index(line, "=")) print word " " field(substr(line, 1, k - 1)) " " field(substr(line, k + 1))
		else if (line == "") print word
}

# logged counts, in a log on standard input, the lines that give away a token or a
# key: those of a kubeconfig that a program printed, as it is or with its quotes
# escaped. It prints how many bytes there were, whether that was all, how many lines
# with tokens and with keys, and the times that stand before the first and the
# last of them; nothing of the lines.
#
# A container runtime writes a long line in pieces, marked P up to the last one,
# and each with its time and stream in front: what may be the beginning of a token
# is kept for the next piece.
function logged(max,   line, text, stream, piece, hit, bytes, all, tokens, keys, first, last, tail, counted, sep, part, token, key, prefix) {
	sep = "[ \\\\\"" sprintf("%c", 39) "]*"
	part = repeated("[A-Za-z0-9_-]", 17)
	token = "oken" sep ":" sep "eyJ" part "[A-Za-z0-9_-]*[.]eyJ" part
	key = "client-key-data" sep ":" sep "LS0tLS1CRUdJTi" repeated("[A-Za-z0-9+/]", 40)
	prefix = "^[-0-9T:.Z+]+ std(out|err) [PF] "
	tail["stdout"] = tail["stderr"] = tail["-"] = ""
	bytes = tokens = keys = 0
	all = 1
	first = last = ""
	while ((getline line) > 0) {
		bytes += length(line) + 1
		if (bytes > max || line == "certrot: cut") {
			all = 0
			break
		}
		if (tail["stderr"] == "" && tail["stdout"] == "" && !index(line, "eyJ") && !index(line, "LS0tL") && !index(line, " P ")) continue
		text = line
		stream = "-"
		piece = 0
		if (match(line, prefix)) {
			text = substr(line, RLENGTH + 1)
			stream = substr(line, RLENGTH - 8, 6)
			piece = substr(line, RLENGTH - 1, 1) == "P"
		}
		text = tail[stream] text
		hit = 0
		if (!((stream, "token") in counted) && text ~ token) {
			tokens++
			hit = counted[stream, "token"] = 1
		}
		if (!((stream, "key") in counted) && text ~ key) {
			keys++
			hit = counted[stream, "key"] = 1
		}
		if (hit) {
			last = moment(line)
			if (first == "") first = last
		}
		if (piece) tail[stream] = substr(text, length(text) > 2000 ? length(text) - 1999 : 1)
		else {
			tail[stream] = ""
			delete counted[stream, "token"]
			delete counted[stream, "key"]
		}
	}
	print bytes " " all " " tokens " " keys " " (first == "" ? "-" : first) " " (last == "" ? "-" : last)
}

function repeated(class, n,   out) {
	out = ""
	while (n-- > 0) out = out class
	return out
}

# moment is the time that stands before a line of a log.
function moment(line) {
	if (!match(line, /^[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9][.0-9]*(Z|[-+][0-9][0-9]:[0-9][0-9]) /)) return ""
	return RLENGTH < 38 ? substr(line, 1, RLENGTH - 1) : ""
}

# refused counts, in the log of a TLS server on standard input, the clients that broke
# off a handshake because of the certificate was presented: a record for the log,
# with the times of its first and last line, and one for each client and reason: of
# more than 200 those that refused last, and that others were left out. Of a line,
# only an address and one of few words leave the node. collect/serverlog.go does the
# same for logs in a must-gather.
function refused(name,   line, i, text, client, why, key, at, from, to, last, n, keys, slot, count, first, latest, older, newer, cut, bytes) {
	bytes = n = cut = 0
	from = last = ""
	older[""] = newer[""] = "" # a ring of the keys by their last line, the oldest after ""
	while ((getline line) > 0) {
		bytes += length(line) + 1
		if (from == "") from = moment(line)
		last = line
		i = index(line, "TLS handshake error from ")
		if (!i) continue
		text = substr(line, 1, i - 1)
		# What clients say of themselves is quoted: it is no message.
		if (text ~ /"/ && text !~ /("msg":"|] ")http: $/) continue
		text = substr(line, i + 25)
		i = index(text, ": remote error: tls: ")
		if (!i) continue
		client = substr(text, 1, i - 1)
		why = substr(text, i + 21, 60)
		sub(/:[0-9]+$/, "", client)
		gsub(/[][]/, "", client)
		sub(/[^a-z ].*$/, "", why)
		if (length(client) > 45 || client !~ /^[0-9a-fA-F.:]+$/ || why !~ /^(bad|unsupported|revoked|expired|unknown) certificate( authority)?$/) continue
		key = client " " field(why)
		if (key in count) {
			newer[older[key]] = newer[key]
			older[newer[key]] = older[key]
		} else if (n < 200) {
			slot[key] = ++n
		} else {
			cut = 1
			i = newer[""]
			newer[""] = newer[i]
			older[newer[i]] = ""
			slot[key] = slot[i]
			delete slot[i]
			delete count[i]
			delete first[i]
			delete latest[i]
			delete older[i]
			delete newer[i]
		}
		keys[slot[key]] = key
		older[key] = older[""]
		newer[key] = ""
		newer[older[key]] = key
		older[""] = key
		count[key]++
		at = moment(line)
		if (first[key] == "") first[key] = at
		if (at != "") latest[key] = at
	}
	to = moment(last)
	print "heard " field(from) " " field(to) " " field(name) " " cut
	for (i = 1; i <= n; i++) print "refused " keys[i] " " count[keys[i]] " " field(first[keys[i]]) " " field(latest[keys[i]])
	print "bytes " bytes
}

# names prints a record of the arguments.
function names(word,   i, line) {
	line = word
	for (i = 3; i <= count; i++) line = line " " field(args[i])
	print line
}

# limit passes on what was gathered: each path and each content once, and no
# more than max bytes. Of what does not fit, contents go first.
function limit(max,   line, part, n, used, room, skip, held, heldlen, heldsum, lost, contents, key) {
	used = lost = contents = 0
	room = max - int(max / 8)
	skip = 0
	held = heldsum = ""
	heldlen = 0
	for (;;) {
		n = (getline line)
		if (n <= 0 || line ~ /^(file|content|more|lost|none|alias|walk) /) {
			if (heldsum != "") {
				if (used + heldlen <= room) {
					printf "%s", held
					used += heldlen
				} else {
					contents++
					if (used < max - 300) print "omitted " heldsum " " heldlen
					used += 100
				}
			}
			held = heldsum = ""
			heldlen = skip = 0
			if (n <= 0) break
			n = split(line, part, " ")
			if (part[1] == "content" || part[1] == "more") {
				skip = (line in seen) || !(part[2] in sent)
				seen[line] = 1
				if (!skip) {
					held = line "\n"
					heldlen = length(line) + 1
					heldsum = part[2]
				}
				continue
			}
			if (part[1] != "walk" || part[2] == "deep" || part[2] == "partial") {
				key = part[1] ~ /^(file|lost)$/ ? part[1] " " part[n] : line
				skip = key in seen
				seen[key] = 1
				if (!skip && used + length(line) > max - 200) {
					lost++
					skip = 1
				} else if (part[1] == "file") sent[part[14]] = 1
			}
		} else if (heldsum != "") {
			held = held line "\n"
			heldlen += length(line) + 1
			continue
		}
		if (skip) continue
		print line
		used += length(line) + 1
	}
	print "cut " lost " " contents
}
