#!/bin/sh
# Makes the kubelet of node @NODE@ trust the API server's CA, and restarts it:
# what "certrot fix-api-int" does to a node, for a person at its console or in ssh,
# without certrot, oc and the API server. Read it, copy it to the node, and as root:
#
#   sh @NAME@ --dry-run   prints what it would do; it changes nothing
#   sh @NAME@             prints that, asks, does it
#   sh @NAME@ undo        puts back what it changed
#
# --yes does not ask. --accept-risk=unverified-server goes on where the node has
# neither openssl nor curl to read the certificate that the server presents.
# --accept-risk=breaks-trust lets undo put back a file that does not trust it.
#
# Running it twice is harmless, and so is interrupting it: each file is before or
# after, never between; then run it again. Pods go on running. Backups stay in
# @FOLDER@/@RUN@; "certrot undo @RUN@ --from-nodes" reads them, too.
#
# Exit codes: 0 done, or already up to date; 1 a dry run would change something; 2 usage;
# 4 something failed half-way; 5 refused, nothing was changed.
#
# Made @MADE@ by certrot @VERSION@. The CAs in it are from
# @FROM@:
@SUBJECTS@
# There is no key and no token in it. Known when it was made:@NOTES@
#
# While it changes something, it says so in @FOLDER@/.held, as certrot does, and it
# refuses to start where another run says so there.
# shellcheck shell=sh
# Where a fails in "a && b || refuse", refuse is what is wanted.
# shellcheck disable=SC2015

LC_ALL=C TZ=UTC0
export LC_ALL TZ
umask 077
unset IFS
PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin

node='@NODE@'
folder='@FOLDER@'
run='@RUN@'
hold_seconds=@HOLD_SECONDS@ # how long a node stays locked by a holder that is silent
# The file to join with, which does nothing as long as the kubelet's client
# certificate is valid; then the one that it works with.
bootstrap='@BOOTSTRAP@'
own='@OWN@'
setup='@SETUP@' # who has them there
joins='@JOINS@' # not empty: who sets nodes up deletes the first one when they have joined
# The sha256 of these files when the node was read; empty: it was not.
bootstrap_was='@BOOTSTRAP_SHA256@'
own_was='@OWN_SHA256@'
ca_sha256='@CA_SHA256@'
client=/var/lib/kubelet/pki/kubelet-client-current.pem
me=$0
[ -f "$me" ] || me='@NAME@' # it came by stdin
holder=''
nl='
'

# ca prints what the kubelet is to trust.
ca() {
	cat <<'CERTROT_CA'
@CA@
CERTROT_CA
}

# host_sh prints the script with which certrot changes files on nodes: it keeps what
# was there, and a new file takes its place when it is complete and on the disk.
host_sh() {
	cat <<'CERTROT_HOST'
@HOST@
CERTROT_HOST
}

# ---- how it exits -------------------------------------------------------------

# readable prints what others wrote, without what a terminal would obey.
readable() { printf '%s\n' "$1" | tr -c '\n -~' '?'; }

refuse() {
	readable "refused, nothing was changed: $1" >&2
	[ -z "${2-}" ] || readable "  next: $2" >&2
	exit 5
}

stop() {
	readable "error: $1" >&2
	readable "  next: look at it, and run the same again; to go back: sh $me undo" >&2
	exit 4
}

usage() {
	printf 'usage: sh %s [--dry-run] [--yes] [--accept-risk=unverified-server]\n       sh %s undo [--yes] [--accept-risk=breaks-trust]\n' "$me" "$me" >&2
	exit 2
}

has() { command -v "$1" >/dev/null 2>&1; }

sha256() { sum=$(sha256sum) && printf '%s\n' "${sum%% *}"; }

# ---- certificates ---------------------------------------------------------------

# bodies prints each certificate in PEM text as one line of base64.
bodies() {
	awk '
	/^-----BEGIN CERTIFICATE-----$/ { if (inside) exit 1; inside = 1; body = ""; next }
	/^-----END CERTIFICATE-----$/ { if (!inside || body == "") exit 1; inside = 0; print body; next }
	/-----(BEGIN|END)/ { exit 1 }
	inside { if ($0 !~ /^[A-Za-z0-9+\/=]+$/) exit 1; body = body $0 }
	END { if (inside) exit 1 }'
}

# der is how awk reads DER, in x as hex: byte reads one, part one element, its tag, and
# where its content and what follows begin.
der='
	BEGIN {
		digits = "0123456789abcdef"
		for (i = 32; i < 127; i++) ascii = ascii sprintf("%c", i)
	}
	function byte(p) { return (index(digits, substr(x, p, 1)) - 1) * 16 + index(digits, substr(x, p + 1, 1)) - 1 }
	function part(p,   n, l) {
		tag = substr(x, p, 2); l = byte(p + 2); content = p + 4
		if (l >= 128) {
			n = l - 128; l = 0
			if (n > 3) { failed = 1; exit 1 }
			while (n-- > 0) { l = l * 256 + byte(content); content += 2 }
		}
		after = content + 2 * l
		if (tag == "" || after > length(x) + 1) { failed = 1; exit 1 }
	}'

# dates prints, of a certificate in one line of base64, until when it is valid
# (YYYYMMDDHHMMSS, and as people write it) and the common name of its subject.
dates() {
	base64 -d 2>/dev/null | od -An -v -tx1 | tr -d ' \n' | awk "$der"'
	function text(from, to,   p, s) {
		for (p = from; p < to; p += 2) s = s substr(ascii, byte(p) - 31, byte(p) >= 32 && byte(p) < 127)
		return s
	}
	{ x = x $0 }
	END {
		if (failed) exit 1
		part(1); if (tag != "30") exit 1
		part(content); if (tag != "30") exit 1
		part(content); if (tag == "a0") part(after)
		part(after); part(after) # after the serial: the algorithm, the issuer
		part(after); if (tag != "30") exit 1
		subject = after
		part(content); part(after)
		until = text(content, after)
		if (tag == "17") until = (substr(until, 1, 2) < "50" ? "20" : "19") until
		if (until !~ /^[0-9]+Z$/ || length(until) != 15) exit 1
		part(subject); end = after; set = content
		while (set < end) {
			part(set); following = after
			part(content); part(content)
			if (substr(x, content, after - content) == "550403") { part(after); name = text(content, after) }
			set = following
		}
		split("1 5 7 9 11 13", at); said = substr(until, 1, 4)
		for (i = 2; i <= 6; i++) said = said substr("--T::", i - 1, 1) substr(until, at[i], 2)
		print substr(until, 1, 14) " " said "Z " name
	}'
}

# named tells whether the first certificate in PEM in a text has this name of a host among
# its subjectAltNames, as Go reads them, and so the kubelet: it takes no common name, and '*'
# for a whole first label alone. It compares bytes: a name may read like others: TEXT NAME
named() {
	printf '%s\n' "$1" | awk '
	/^-----BEGIN CERTIFICATE-----$/ { on = !seen++; next }
	/^-----END CERTIFICATE-----$/ { on = 0 }
	on' | base64 -d 2>/dev/null | od -An -v -tx1 | awk -v host="$2" "$der"'
	function lower(from, to,   p, b, s) {
		for (p = from; p < to; p += 2) {
			b = byte(p)
			s = s sprintf("%02x", b >= 65 && b <= 90 ? b + 32 : b)
		}
		return s
	}
	function hex(s,   h, n) {
		for (n = 1; n <= length(s); n++) h = h sprintf("%02x", index(ascii, substr(s, n, 1)) + 31)
		return h
	}
	{ gsub(/ /, ""); x = x $0 }
	END {
		if (failed || x == "") exit 1
		host = tolower(host)
		want = hex(host); wild = index(host, ".") ? hex("*" substr(host, index(host, "."))) : want
		part(1); part(content); end = after
		part(content); if (tag == "a0") part(after)
		for (i = 0; i < 5; i++) part(after) # behind the serial: algorithm, issuer, validity, subject, key
		while (after < end) {
			part(after)
			if (tag != "a3") continue
			part(content); one = content; stop = after
			while (one < stop) {
				part(one); one = after
				part(content)
				if (substr(x, content, after - content) != "551d11") continue
				lists++
				part(after); if (tag == "01") part(after)
				part(content); last = after
				while (content < last) {
					part(content)
					if (tag == "82" && ((name = lower(content, after)) == want || name == wild)) found = 1
					content = after
				}
			}
			after = stop
		}
		exit !(found && lists == 1)
	}'
}

# list prints certificates, a line of base64 each, behind a word.
list() {
	while read -r body; do
		about=$(printf '%s\n' "$body" | dates) || about='? ? ?'
		about=${about#* }
		printf '%s sha256 %s until %s: %s\n' "$1" "$(printf '%s\n' "$body" | base64 -d | sha256)" "${about%% *}" "${about#* }"
	done
}

# ---- the files ------------------------------------------------------------------

# shape finds the CA in a kubeconfig of a known shape: those that machine-config-server
# and -daemon, the kubelet, the installer and kubeadm write. It prints "ca OFFSET LENGTH
# SERVER", or "no" and why.
shape() {
	awk '
	function no(why) { print "no line " NR ": " why; failed = 1; exit }
	function once(what) { if (seen[what]++) no("there is more than one " what) }
	function value() { s = $0; sub(/^[ -]*[A-Za-z-]+: /, "", s); return s }
	function name() {
		s = value()
		if (s !~ /^[A-Za-z0-9._\/:@-]*[A-Za-z][A-Za-z0-9._\/:@-]*$/ || s ~ /^[-:@]|:$|^(null|Null|NULL|true|True|TRUE|false|False|FALSE|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF|y|Y|n|N)$/) no("the name is written in a way that this script does not know")
		return s
	}
	{ at = offset; offset += length($0) + 1 }
	/^(apiVersion: v1|kind: Config|preferences: \{\})$/ { once($1); in_ = ""; next }
	/^(clusters|contexts|users):$/ { once($1); in_ = $1; inner = 0; next }
	/^current-context: / { once("current-context"); current = name(); in_ = ""; next }
	in_ == "clusters:" && /^- cluster:$/ { once("cluster"); inner = 1; next }
	in_ == "clusters:" && inner && /^    certificate-authority-data: / {
		once("CA"); key = "    certificate-authority-data: "
		ca = at + length(key); size = length($0) - length(key)
		if (value() !~ /^[A-Za-z0-9+\/]+=?=?$/ || size % 4) no("the CA is not base64 on one line")
		next
	}
	in_ == "clusters:" && inner && /^    server: / {
		once("server"); server = value()
		if (server !~ /^https:\/\/([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(:[0-9]+)?\/?$/) no("the server is not https://HOST:PORT")
		next
	}
	in_ == "clusters:" && inner && /^  name: / { cluster = name(); inner = 0; next }
	in_ == "contexts:" && /^- context:$/ { once("context"); inner = 1; next }
	in_ == "contexts:" && inner && /^    cluster: / { once("cluster of a context"); used = name(); next }
	in_ == "contexts:" && inner && /^    namespace: / { once("namespace"); name(); next }
	in_ == "contexts:" && inner && /^    user: / { once("user of a context"); by = name(); next }
	in_ == "contexts:" && inner && /^  name: / { context = name(); inner = 0; next }
	in_ == "users:" && /^- name: / { once("user"); user = name(); inner = 1; next }
	in_ == "users:" && inner == 1 && /^  user:$/ { inner = 2; next }
	in_ == "users:" && inner == 2 && /^    (client-certificate|client-key|client-certificate-data|client-key-data|token|tokenFile): / {
		once($1)
		if (value() !~ /^([A-Za-z0-9+\/._-]+=?=?|"[A-Za-z0-9._-]+")$/) no("the value of " $1 " is written in a way that this script does not know")
		next
	}
	{ word = $1 == "-" ? $2 : $1; if (word !~ /^[A-Za-z-]+:$/) word = "something"; no(word " is not where the known shapes have it, or they have it not") }
	END {
		if (failed) exit
		NR = "end"
		if (!ca || server == "" || cluster == "" || context == "" || current == "" || user == "" || inner == 1) no("a part is missing that the known shapes have")
		if (current != context) no("the current context is not the one that is there")
		if (used != cluster) no("the current context leads to another cluster")
		if (by != user) no("the current context is that of another user")
		print "ca " ca " " size " " server
	}' <"$1"
}

# known sets offset, length and server of a kubeconfig, and writes the certificates
# in it to TO; it returns 1, and sets why, where it is of no known shape: FILE TO
known() {
	why=''
	size=$(wc -c <"$1") || { why="it can't be read"; return 1; }
	[ "$size" -le 1048576 ] || { why="it has $size bytes"; return 1; }
	[ "$(tr -d '\n -~' <"$1" | wc -c)" -eq 0 ] || { why="it has other characters than those of ASCII, or tabs"; return 1; }
	found=$(shape "$1") || { why="awk can't read it"; return 1; }
	case $found in
	'ca '*) ;;
	*)
		why=${found#no }
		return 1
		;;
	esac
	# shellcheck disable=SC2086 # numbers and an address
	set -- "$1" "$2" $found
	offset=$4 length=$5 server=$6
	tail -c "+$((offset + 1))" "$1" | head -c "$length" >"$scratch/was" && [ "$(wc -c <"$scratch/was")" -eq "$length" ] || { why="its CA can't be copied to $scratch"; return 1; }
	base64 -d <"$scratch/was" >"$scratch/pem" 2>/dev/null || { why="its CA is not base64"; return 1; }
	[ "$(tr -d '\n -~' <"$scratch/pem" | wc -c)" -eq 0 ] || { why="its CA has other characters than PEM has"; return 1; }
	bodies <"$scratch/pem" >"$2" && [ -s "$2" ] || { why="its CA can't be read as certificates in PEM"; return 1; }
}

# trusted writes the CAs that a file is to have: what is wanted, verbatim, then what it
# has beside that and has not expired: OLD TO
trusted() {
	ca >"$2" && cp "$scratch/wanted" "$scratch/bodies" || return 1
	now=$(date -u +%Y%m%d%H%M%S)
	while read -r body; do
		! grep -qxF -e "$body" "$scratch/bodies" || continue
		until=$(printf '%s\n' "$body" | dates) || return 1
		[ "${until%% *}" -gt "$now" ] || continue
		printf '%s\n' "$body" >>"$scratch/bodies" || return 1
		{ echo '-----BEGIN CERTIFICATE-----' && printf '%s\n' "$body" | fold -w 64 && echo '-----END CERTIFICATE-----'; } >>"$2" || return 1
	done <"$1"
}

# ---- what is checked before -------------------------------------------------------

ended() {
	[ -z "$holder" ] || host release "$folder" "$holder" || readable "warning: $folder/.held is still there: $why" >&2
	rm -rf "$scratch"
}

# prepare makes a folder for what is unfinished; no key and no token gets there.
prepare() {
	[ "$(id -u)" = 0 ] || refuse "it has to run as root" "sudo sh $me"
	for tool in awk base64 cat cp date fold grep head id mktemp od rm sha256sum sleep stat systemctl systemd-run tail tr uname wc; do
		has "$tool" || refuse "there is no $tool on this machine"
	done
	scratch=$(mktemp -d) || refuse "no folder for temporary files could be made"
	trap ended EXIT
	trap 'exit 4' HUP INT TERM
	head -c 8388608 </dev/zero >"$scratch/room" && rm "$scratch/room" || refuse "there are no 8 MiB for temporary files in $scratch" "make room, or name a folder that has it: TMPDIR=/run sh $me"
	ca >"$scratch/ca"
	[ "$(sha256 <"$scratch/ca")" = "$ca_sha256" ] || refuse "the CA in this script is not what certrot wrote into it" "copy it again"
	bodies <"$scratch/ca" >"$scratch/wanted" || refuse "the CA in this script can't be read" "copy it again"
	host_text=$(host_sh)
}

# identified refuses a machine that is not the node: by its kubelet's client
# certificate, else by its name.
identified() {
	if [ -r "$client" ] && named=$(awk '/^-----BEGIN CERTIFICATE-----$/ { on = 1 } on { print } /^-----END CERTIFICATE-----$/ { exit }' "$client" | bodies | dates) && [ -n "$named" ]; then
		named=${named#* * }
		[ "$named" = "system:node:$node" ] || refuse "this machine is another node: its kubelet is $named, and this script is for $node" "take the script of this node"
		return
	fi
	short=$(uname -n | tr '[:upper:]' '[:lower:]')
	[ "${short%%.*}" = "$(printf '%s' "${node%%.*}" | tr '[:upper:]' '[:lower:]')" ] ||
		refuse "this machine calls itself $short, its kubelet's certificate can't be read, and this script is for $node" "take the script of this node"
}

# host does one thing to the node: it sets answer to what it found, and returns 1 with
# why where it failed.
host() {
	answer=$(/bin/sh -c 'eval "$1"' certrot "$host_text" "$@") || { why="/bin/sh failed"; return 1; }
	whole=$answer
	answer=${answer%?end}
	last=$(printf '%s\n' "$answer" | tail -n 1)
	case $whole in
	'certrot-host 1'*end) ;;
	*) last='fail unknown its answer is not whole' ;;
	esac
	case $last in
	'done '*) ;;
	*)
		why=${last#fail }
		why=${why#* } # without its code
		return 1
		;;
	esac
}

# unit sets pid, state and entered (seconds since 1970) of the kubelet.
unit() {
	host unit kubelet.service || return 1
	tell() { printf '%s\n' "$answer" | awk -v key="$1=" 'index($0, key) == 1 { print substr($0, length(key) + 1) }'; }
	pid=$(tell MainPID) state=$(tell ActiveState)/$(tell SubState) entered=0
	stamp=$(tell ActiveEnterTimestamp)
	stamp=${stamp#* }
	stamp=${stamp% UTC}
	[ -z "$stamp" ] || entered=$(date -u -d "$stamp" +%s 2>/dev/null) || entered=0
}

# machine prints what certrot calls this machine: host name, boot and PID namespace, by
# which a process ID is of one process. It prints nothing where these are not to be had.
machine() {
	boot=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null) && processes=$(readlink /proc/self/ns/pid 2>/dev/null) || return 0
	of=$(printf '%s\n%s\n\n%s' "$(uname -n)" "$boot" "$processes" | sha256)
	printf '%.32s\n' "$of"
}

# gone tells whether who said BY, "USER@HOST (pid PID of MACHINE) ...", was a process of
# this machine, and is no more. In doubt it is there.
gone() {
	here=$(machine)
	case $1 in
	*' (pid '*' of '*')'*) ;;
	*) return 1 ;;
	esac
	of=${1#*' (pid '}
	number=${of%%' of '*}
	of=${of#*' of '}
	case $number in
	'' | 0* | *[!0-9]*) return 1 ;;
	esac
	[ -n "$here" ] && [ "${of%%')'*}" = "$here" ] && ! kill -0 "$number" 2>/dev/null
}

# busy sets by to another holder of this node, and for to the seconds since it said so.
busy() {
	by='' for=''
	locked=$(printf '%s\n' "$answer" | awk '$1 == "locked" { print; exit }')
	[ -n "$locked" ] || return 1
	locked=${locked#locked }
	for=${locked%% *} by=${locked#* }
}

taken() { refuse "$by is changing this node (for ${for}s)" "wait until that run is over; the node is released after $hold_seconds s at the latest. If that run is known to be gone: rm $folder/.held"; }

# alone refuses a node that another run holds; in a dry run it says so.
alone() {
	host who "$folder" "$hold_seconds" || refuse "it is unknown whether another run changes this node: $why" "look at $folder"
	busy && ! gone "$by" || return 0
	[ -z "$dry" ] || { readable "Not now: $by is changing this node (for ${for}s)."; return 0; }
	taken
}

# keep keeps others off, until the end.
keep() {
	holder="$(printf '%s' "${SUDO_USER:-$(id -un 2>/dev/null || echo root)}" | tr -c 'A-Za-z0-9._-' '?')@$(uname -n) (pid $$ of $(machine)), run $run by its script"
	! host keep "$folder" "$holder" '' "$hold_seconds" || return 0
	if busy && gone "$by"; then
		! host keep "$folder" "$holder" "$by" "$hold_seconds" || return 0
	fi
	holder=''
	! busy || taken
	refuse "others can't be kept off this node: $why" "look at $folder: is the disk full, or read-only?"
}

# swept removes what a killed start of this script left, where nothing else is to be done:
# all that takes hold of the node does.
swept() {
	[ -z "$dry" ] || return 0
	for rest in "$folder/.held" "$folder/$run/pending" "$folder/$run/tmp-"??????; do
		[ -f "$rest" ] || continue
		case $rest in
		*/.held) grep -q -F "), run $run by its script" "$rest" || continue ;;
		esac
		keep
		return
	done
}

# flags refuses a kubelet that works with other files.
flags() {
	[ "${pid:-0}" != 0 ] && [ -r "/proc/$pid/cmdline" ] || { echo "Which kubeconfigs the kubelet uses is unknown, since it does not run: $setup's are taken."; return; }
	tr '\0' '\n' <"/proc/$pid/cmdline" >"$scratch/cmdline"
	for flag in "bootstrap-kubeconfig $bootstrap" "kubeconfig $own"; do
		used=$(awk -v flag="--${flag%% *}" 'before == flag { print; exit } index($0, flag "=") == 1 { print substr($0, length(flag) + 2); exit } { before = $0 }' "$scratch/cmdline")
		[ -z "$used" ] || [ "$used" = "${flag#* }" ] || refuse "the kubelet runs with --${flag%% *} $used, and this script is for ${flag#* }" "this node is not set up as others are: repair it by hand"
	done
}

# verified refuses to go on unless these CAs verify what a server presents: CAS SERVER
verified() {
	address=${2#https://}
	address=${address%/}
	case $address in
	*]) address=$address:443 ;;
	*:*) ;;
	*) address=$address:443 ;;
	esac
	name=${address%:*}
	name=${name#[}
	name=${name%]}
	unnamed="its certificate does not have $name among its subjectAltNames, which the kubelet wants"
	if has openssl; then
		by=openssl check=-verify_hostname
		case $name in
		*:*) check=-verify_ip ;;
		*[!0-9.]*) ;;
		*) check=-verify_ip ;;
		esac
		sni="-servername $name"
		[ $check = -verify_hostname ] || sni=''
		# No CA of the machine counts, and one that is no root does. What decides is how
		# openssl exits, which verifies or aborts: what it prints has names in it that the
		# server chose, and of a TLS 1.2 handshake that was aborted it prints the code 0,
		# too. Lines, which no name can begin, count beside that.
		status=0
		# shellcheck disable=SC2086 # two words, or none
		said=$(limited env SSL_CERT_FILE=/dev/null SSL_CERT_DIR=/nonexistent openssl s_client -verify 9 -verify_return_error -connect "$address" $sni $check "$name" -partial_chain -CAfile "$1" </dev/null 2>&1) || status=$?
		case "$status$nl$said$nl" in
		*"${nl}verify error:"* | *"${nl}no peer certificate available$nl"*) wrong=$(printf '%s\n' "$said" | awk '/^verify error:/ { print; exit }') ;;
		"0$nl"*"${nl}Verify return code: 0 (ok)$nl"* | "0$nl"*"${nl}    Verify return code: 0 (ok)$nl"*)
			# It takes a common name, too, where there is no other name; of an address it does not.
			[ $check = -verify_ip ] && return
			named "$said" "$name" && return
			wrong=$unnamed
			;;
		*) wrong='' ;;
		esac
		[ -n "$wrong" ] || refuse "the certificate served at $address was not read: $(printf '%s\n' "$said" | awk 'NF && !/^verify depth is/ { print; exit }')" "is the API server up behind that name?"
		said=$wrong
	elif has curl; then
		by=curl
		mkdir -p "$scratch/none"
		status=0
		said=$(curl -q -sS -v -o /dev/null --noproxy '*' --max-time 20 --cacert "$1" --capath "$scratch/none" "https://$address/readyz" 2>&1) || status=$?
		# It takes a common name where there is no other name, and older ones take '*' within
		# a label. It says so, in lines that no name can remove.
		[ "$status" != 0 ] || ! printf '%s\n' "$said" | awk '
		/common name: .*\(matched\)/ || /match(ed|es) cert.s "([^"*]+\*|\*[^.])/ { other = 1 }
		/subjectAltName: / { alternative = 1 }
		END { exit !(alternative && !other) }' || return 0
		case $status in
		0) said=$unnamed ;;
		*) said=$(printf '%s\n' "$said" | awk '/^curl: \(/ { last = $0 } END { print last }') ;;
		esac
		case $status in
		0 | 60 | 51) ;;
		*) refuse "the certificate served at $address was not read: $said" "is the API server up behind that name?" ;;
		esac
	else
		case $risks in
		*' unverified-server '*)
			echo "Accepted: there is neither openssl nor curl: whether the CA verifies the certificate served at $address is unknown."
			return
			;;
		esac
		refuse "there is neither openssl nor curl on this machine: whether the CA verifies the certificate served at $address is unknown" "on another machine, check the CA against the certificate that the server presents, then: --accept-risk=unverified-server"
	fi
	[ "${3-}" = '' ] || return 1
	refuse "the CA does not verify the certificate served at $address: $said (by $by)" "repair the server side first; or write this script again, with the CA of now"
}

limited() {
	if has timeout; then
		timeout 20 "$@"
	else
		"$@"
	fi
}

# ---- what it does -----------------------------------------------------------------

# plan says what would become of a file. It leaves the value in SCRATCH/value-WHICH, if
# there is something to do; and sets was_WHICH: FILE WHICH EXPECTED
plan() {
	sha=$(sha256 <"$1") || refuse "$1 can't be read"
	known "$1" "$scratch/old" || refuse "$1: $why" "it is of no shape that this script knows: repair it with certrot itself (--local), or by hand"
	verified "$scratch/ca" "$server"
	missing=0
	while read -r body; do
		grep -qxF -e "$body" "$scratch/old" || missing=1
	done <"$scratch/wanted"
	if [ "$missing" = 0 ]; then
		echo "$1: already up to date"
		return
	fi
	[ -z "$3" ] || [ "$sha" = "$3" ] || refuse "$1 is not what it was when this script was made (sha256 $3, now $sha)" "write the script again"
	trusted "$scratch/old" "$scratch/new" || refuse "$1: a CA in it can't be read"
	# What a full disk cut short is not what is written.
	bodies <"$scratch/new" >"$scratch/new-bodies" && [ "$(sha256 <"$scratch/new-bodies")" = "$(sha256 <"$scratch/bodies")" ] &&
		base64 <"$scratch/new" | tr -d '\n' >"$scratch/value-$2" &&
		[ "$(base64 -d <"$scratch/value-$2" | sha256)" = "$(sha256 <"$scratch/new")" ] || refuse "$1: what would be written can't be made in $scratch"
	printf '%s\n' "$sha $offset $length" >"$scratch/at-$2"
	printf -- '--- %s\n+++ %s\n-    certificate-authority-data: (%s characters)\n+    certificate-authority-data: (%s characters)\n' "$1" "$1" "$length" "$(wc -c <"$scratch/value-$2")"
	{
		while read -r body; do
			sign=-
			! grep -qxF -e "$body" "$scratch/new-bodies" || sign=' '
			printf '%s\n' "$body" | list "$sign"
		done <"$scratch/old"
		while read -r body; do
			grep -qxF -e "$body" "$scratch/old" || printf '%s\n' "$body" | list +
		done <"$scratch/new-bodies"
	}
	todo=1
}

# change writes what was planned: FILE WHICH
change() {
	[ -f "$scratch/value-$2" ] || return 0
	read -r sha offset length <"$scratch/at-$2"
	bytes=$(wc -c <"$scratch/value-$2")
	host replace "$folder" "$run" "$1" "$sha" "$offset" "$length" "$((bytes))" "$(sha256 <"$scratch/value-$2")" <"$scratch/value-$2" ||
		stop "$1 was not changed: $why"
	tail -c "+$((offset + 1))" "$1" | head -c "$((bytes))" >"$scratch/is"
	[ "$(sha256 <"$scratch/is")" = "$(sha256 <"$scratch/value-$2")" ] || stop "$1 is not what was written: another program changed it"
	echo "$1: written; what it was is in $folder/$run/before-$sha"
}

# ours tells whether a file is as this script wrote it, or put it back: FILE. In doubt it is.
ours() {
	entry=file-$(printf '%s' "$1" | sha256)
	for noted in "$folder/$run/$entry" "$folder/$run/back-$entry"; do
		[ -e "$noted" ] || continue
		[ "$1" = "$own" ] || return 0 # a kubelet writes no other
		is=$(sha256 <"$1") || return 0
		awk -v is="$is" '
		$1 == "before" || $1 == "after" { for (i = 2; i <= NF; i++) if ($i == is) found = 1 }
		END { if (!found) exit 3 }' "$noted"
		[ $? = 3 ] || return 0
	done
	return 1
}

# due tells whether the kubelet has to read its files again.
due() {
	unit || refuse "the kubelet's state was not read: $why" "systemctl status kubelet"
	[ "$state" = active/running ] || return 0
	for file in "$bootstrap" "$own"; do
		if [ ! -e "$file" ]; then
			[ "$file" = "$bootstrap" ] || return 0 # it writes it when it starts
			continue
		fi
		changed=$(stat -c %Y "$file") || return 0
		grace=60 # a kubelet writes its own file while it starts
		! ours "$file" || grace=0
		[ "$changed" -lt $((entered + grace)) ] || return 0
	done
	return 1
}

# restart restarts the kubelet, once, and waits until another process says that it runs.
restart() {
	unit || stop "the kubelet's state was not read: $why"
	before=$pid
	host restart "$folder" "$run" kubelet.service || stop "the kubelet was not restarted: $why"
	echo "the kubelet restarts ..."
	tries=60
	while
		tries=$((tries - 1))
		# At first it may still be as it was before.
		[ "$tries" -gt 50 ] || { [ "$tries" -gt 0 ] && [ "$state" != failed/failed ]; } || stop "the kubelet does not come up: $state; journalctl -u kubelet -n 50"
		sleep 1
		! unit || [ "$state" != active/running ] || [ "$pid" = "$before" ] || [ "${pid:-0}" = 0 ]
	do :; done
	first=$pid
	sleep 3
	unit && [ "$state" = active/running ] && [ "$pid" = "$first" ] || stop "the kubelet came up and ended again: $state; journalctl -u kubelet -n 50"
	echo "the kubelet runs, as process $pid"
}

consent() {
	[ -z "$yes" ] || return 0
	[ -t 0 ] || refuse "stdin is not a terminal" "review what it would do with --dry-run, then: sh $me ${1:+$1 }--yes"
	printf 'Do this? Type yes to go on: '
	read -r reply || reply=''
	[ "$reply" = yes ] || refuse "the answer was not yes"
}

forward() {
	todo=''
	unit || refuse "the kubelet's state was not read: $why" "systemctl status kubelet"
	flags
	alone
	[ -e "$bootstrap" ] || [ -e "$own" ] || refuse "neither $bootstrap nor $own is there" "is this a node of the cluster?"
	if [ -e "$bootstrap" ]; then
		plan "$bootstrap" bootstrap "$bootstrap_was"
	elif [ -n "$joins" ]; then
		echo "$bootstrap is not there: $setup deletes it when a node has joined."
	else
		echo "$bootstrap is not there: the kubelet can't bootstrap again, should it have to."
	fi
	if [ -e "$own" ]; then
		plan "$own" own "$own_was"
	else
		echo "$own is not there: the kubelet writes it, from $bootstrap, when it starts."
	fi
	if [ -z "$todo" ] && ! due; then
		swept
		echo "Nothing is to be done on $node."
		return
	fi
	echo "then: restart kubelet.service, once; pods go on running"
	[ -z "$dry" ] || exit 1
	consent ''
	keep
	change "$bootstrap" bootstrap
	change "$own" own
	restart
	echo "Done. Does it report again? From anywhere else: kubectl get node $node; kubectl get csr. To go back: sh $me undo"
}

back() {
	[ -d "$folder/$run" ] || { echo "This script has changed nothing here: nothing to put back."; return; }
	todo=''
	alone
	for file in "$own" "$bootstrap"; do
		entry=$folder/$run/file-$(printf '%s' "$file" | sha256)
		[ -f "$entry" ] || continue
		was=$(awk '$1 == "before" { print $2 }' "$entry")
		[ -f "$file" ] || refuse "$file is gone" "what it was is in $folder/$run/before-$was"
		is=$(sha256 <"$file")
		[ "$is" != "$was" ] || { echo "$file: already as it was"; continue; }
		case " $(awk '$1 == "after"' "$entry") " in
		*" $is "*) ;;
		*) refuse "$file was changed after this script changed it: putting back the backup would undo that, too" "what it was is in $folder/$run/before-$was" ;;
		esac
		echo "$file: becomes what it was, sha256 $was"
		todo=1
		known "$folder/$run/before-$was" "$scratch/old" || refuse "$folder/$run/before-$was: $why"
		case $risks in
		*' breaks-trust '*) ;;
		*) verified "$scratch/pem" "$server" undo || refuse "the backup does not trust the certificate served at $server: the node would have no heartbeat" "leave it as it is; or: sh $me undo --accept-risk=breaks-trust" ;;
		esac
	done
	if [ -z "$todo" ] && ! due; then
		swept
		echo "Nothing is to be put back on $node."
		return
	fi
	echo "then: restart kubelet.service, once; pods go on running"
	[ -z "$dry" ] || exit 1
	consent undo
	keep
	for file in "$own" "$bootstrap"; do
		[ -f "$folder/$run/file-$(printf '%s' "$file" | sha256)" ] || continue
		host restore "$folder" "$run" "$file" || stop "$file was not put back: $why"
		echo "$file: as it was"
	done
	restart
	echo "Done: the files are what they were."
}

main() {
	what=forward dry='' yes='' risks=' '
	for word; do
		case $word in
		undo) what=back ;;
		--dry-run) dry=1 ;;
		--yes) yes=1 ;;
		--accept-risk=unverified-server | --accept-risk=breaks-trust) risks="$risks${word#*=} " ;;
		*) usage ;;
		esac
	done
	prepare
	identified
	$what
}

# The last line calls it: of a script that was not copied whole, nothing runs.
main "$@"
