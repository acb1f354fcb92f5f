# Reads certificate files on a node and prints what docs/gather.md describes. It
# writes nothing to the node: no file, no temporary one either. It runs under
# any POSIX shell (dash, bash, busybox) with the usual tools of coreutils or
# busybox. It is sent to `sh -s -- ARGUMENTS`; what it is told comes as
# arguments only, and no name of a file is ever part of a command's text.
#
# Arguments: ROOT FILES SIZE TOTAL OUTPUT SECONDS DEPTH, then paths.
#   ROOT     where the node's root is mounted: /, /host, /rootfs
#   FILES    how many files, links and directories to look at, at most
#   SIZE     bytes of a file that is still read
#   TOTAL    bytes read, at most
#   OUTPUT   bytes written, at most
#   SECONDS  after which it stops
#   DEPTH    of directories
#   rPATH    a file, a directory or a pattern to read
#   hPATH    a file or directory whose files are only hashed
#   lPATH    a log, or a pattern of some, in which tokens and keys are counted
#   tPATH    the log of a TLS server, or a pattern of some, in which the clients
#            are counted that do not accept its certificate
#   pCOMMAND ARGUMENT  processes whose start is told: by the last element of the
#            program's path and, where there is one, an argument
#
# AWK holds the text of the *.awk files beside this one: which bytes of a file
# may leave the node is decided there.
# shellcheck shell=sh

LC_ALL=C TZ=UTC0
export LC_ALL TZ
umask 077
nl='
'

# limited runs a command, and kills it when it takes longer than some seconds,
# or than what is left of the time for all.
limited() {
	seconds=$1
	shift
	[ "$seconds" -le "$left" ] || seconds=$left
	if [ -n "$timeout" ]; then
		# shellcheck disable=SC2086 # a command with its options
		$timeout "$seconds" "$@"
		return
	fi
	{
		"$@" <&9 9<&- &
	} 9<&0
	command=$!
	(
		trap 'kill "$sleep"; exit' TERM
		sleep "$seconds" &
		sleep=$!
		wait "$sleep"
		kill -KILL "$command"
	) >/dev/null 2>&1 9<&- &
	guard=$!
	wait "$command" 2>/dev/null
	status=$?
	kill "$guard" 2>/dev/null
	return "$status"
}

# late tells whether the time is over, and sets left to the seconds that remain:
# at least one, for what still has to be said.
late() {
	left=$((deadline - $(date +%s)))
	[ "$left" -le 0 ] || return 1
	left=1
}

has() { command -v "$1" >/dev/null 2>&1; }

# hash prints a line for each file, which starts with its sha256; without files
# that of its input.
hash() {
	case $sha in
	sha256sum) limited 10 sha256sum "$@" ;;
	shasum) limited 10 shasum -a 256 "$@" ;;
	openssl) limited 10 openssl dgst -sha256 -r "$@" ;;
	esac 2>/dev/null
}

# say prints a record. Words in which awk would change nothing need none: a program for
# each path that is not there would be half of what a look at a node takes.
say() {
	for word; do
		case $word in
		'' | - | *[!A-Za-z0-9/._*@:+-]*)
			awk "$AWK" names "$@"
			return
			;;
		esac
	done
	printf '%s' "$1"
	shift
	[ $# -eq 0 ] || printf ' %s' "$@"
	echo
}

clock() {
	now=$(date -u +%s.%N)
	case $now in
	*[!0-9.]*) now=$(date -u +%s) ;; # busybox knows no nanoseconds
	esac
	echo "clock $now"
}

# ---- the node ---------------------------------------------------------------

facts() {
	name=$(uname -n)
	# Seen from a container, the node's own name is in its file.
	if [ -n "$root" ] && [ -f "$root/etc/hostname" ] && [ -r "$root/etc/hostname" ]; then
		IFS= read -r name <"$root/etc/hostname" || :
	fi
	say node "$name" "$(uname -r)" "$(id -u)" "$sha" "${openssl:--}"
	units
}

# units says how the services that use certificates are, and how the kubelet
# was started. It sets config to the path of the kubelet's configuration, and pid to its
# main process.
units() {
	config='' pid=''
	set -- systemctl show -p Id,Type,LoadState,ActiveState,SubState,MainPID,ActiveEnterTimestamp,ExecMainStartTimestamp,NRestarts,NeedDaemonReload \
		kubelet.service crio.service containerd.service
	if [ -n "$root" ]; then
		set -- chroot "$root" "$@"
	fi
	if ! has "$1"; then
		say missing units "$1 is not there"
		return
	fi
	props=$(limited 10 "$@" 2>/dev/null) || props=
	if [ -z "$props" ]; then
		say missing units "systemctl gave no answer"
		return
	fi
	printf '%s\n' "$props" | awk "$AWK" pairs unit
	pid=${props#*MainPID=} # of the first unit asked for
	pid=${pid%%"$nl"*}
	case $pid in
	'' | 0 | *[!0-9]*) return ;;
	esac
	if ! [ -r "$root/proc/$pid/cmdline" ]; then
		say missing flags "the kubelet's command line is not readable here"
		return
	fi
	if booted && IFS= read -r stat <"$root/proc/$pid/stat"; then
		# shellcheck disable=SC2086 # numbers, after the name in parentheses
		set -- ${stat##*) }
		case $# in
		[2-9][0-9]) say began "$((boot + ${20} / ticks))" ;;
		esac
	fi
	flags=$(limited 5 tr '\000' '\n' <"$root/proc/$pid/cmdline" | awk "$AWK" flags)
	if [ -z "$flags" ]; then # it is over, or has just ended
		say missing flags "the kubelet's command line is not readable here"
		return
	fi
	printf '%s\n' "$flags"
	case $flags in
	*"flag config /"*)
		config=${flags#*"flag config "}
		config=${config%% *}
		;;
	esac
}

# booted sets boot, when the system was started by the clock of now, and ticks.
booted() {
	boot=
	[ -e "$root/proc/stat" ] || return 1
	while IFS=' ' read -r word value; do
		[ "$word" != btime ] || boot=$value
	done <"$root/proc/stat"
	case $boot in
	'' | *[!0-9]*) return 1 ;;
	esac
	ticks=$(getconf CLK_TCK 2>/dev/null || echo 100)
}

# processes says when those that were asked for started and whose they are, and whether
# these are all: each was read, and so was the kubelet's, which systemd names. Of command
# lines nothing leaves the node. Names and arguments are what any pod's process gives
# itself: a name with a line feed is none that was asked for.
processes() {
	wanted=$nl names=$nl
	for want; do
		case $want in
		p*)
			wanted=$wanted${want#p}$nl
			want=${want#p}
			names=$names$(printf %.15s "${want%% *}")$nl # as long as the kernel keeps
			;;
		esac
	done
	[ "$wanted" != "$nl" ] && [ -e "$root/proc/stat" ] || return 0
	if ! booted; then
		say missing processes "/proc does not tell when the system was started"
		return
	fi
	late || rest=$((left - left / 3))
	pods='' cut='' uid=''
	! resolve /var/log/pods || pods=$root$real
	if IFS= read -r line <"$root/proc/1/cgroup"; then
		case $line in
		*/..*) cut=1 ;; # by a namespace: what is in no pod can't be told
		esac
	fi 2>/dev/null
	kubelet='' unread='' looked=0
	for comm in "$root"/proc/[0-9]*/comm; do
		# A tenant has as many as it likes: a third of the time is for them.
		looked=$((looked + 1))
		if [ $((looked % 128)) -eq 0 ] && { late || [ "$left" -lt "$rest" ]; }; then
			say missing processes "not all were looked at: it took too long"
			return
		fi
		told='' name=''
		{
			! IFS= read -r name || told=1
			! IFS= read -r line || name=$nl
		} <"$comm"
		if [ -z "$told" ]; then
			[ ! -e "$comm" ] || unread=1
			continue
		fi
		[ "$comm" != "$root/proc/$pid/comm" ] || kubelet=1
		case $names in
		*"$nl$name$nl"*) process "${comm%/comm}" || [ ! -e "$comm" ] || unread=1 ;;
		esac
	done 2>/dev/null
	if [ -n "$unread" ]; then
		say missing processes "not each could be read"
	elif [ -n "$kubelet" ]; then
		say all processes
	fi
}

# process looks closer at one, by its directory. It fails where that can't be read. Of
# tenants' pods there may be thousands: for theirs, no program is run.
process() {
	owner "$1"
	[ -n "$owner" ] || return 0
	words=$(limited 5 tr '\000 \n' '\n__' <"$1/cmdline") || return
	command=${words%%"$nl"*}
	command=${command##*/}
	words=$words$nl stat=''
	while IFS= read -r line; do
		stat=$stat$nl$line # older kernels print line feeds of a name as they are
	done <"$1/stat" || return
	# shellcheck disable=SC2086 # numbers, after the name in parentheses
	set -- ${stat##*) }
	case $# in
	[2-9][0-9]) ;;
	*) return 1 ;;
	esac
	case $wanted in
	*"$nl$command$nl"*) ;;
	*"$nl$command "*)
		argument=${wanted#*"$nl$command "}
		argument=${argument%%"$nl"*}
		case $words in
		*"$nl$argument$nl"* | *"$nl$argument="*) ;;
		*) return 0 ;;
		esac
		;;
	*) return 0 ;;
	esac
	# shellcheck disable=SC2086 # UIDs and names of pods, without spaces
	say process "$command" "$((boot + ${20} / ticks))" $owner
}

# owner sets owner to whose a process is, by its directory: a platform's pod, by its UID,
# namespace and name, or "host", or "unknown"; nothing where it is a tenant's. Its control
# groups name the pod by its UID, and the kubelet's directory of the pod's logs names that:
# neither is written by who runs in it.
owner() {
	was=$uid uid='' doubt=$cut listed=''
	while IFS= read -r line; do
		listed=1
		group "${line#*:*:}"
	done <"$1/cgroup"
	owner=unknown
	case $listed$uid in
	'' | 1-) return 0 ;;
	1)
		[ -n "$doubt" ] || owner=host
		return 0
		;;
	esac
	if [ "$uid" != "$was" ]; then # those of one pod mostly come together
		pod=''
		set -- "$pods"/*_"$uid"
		[ $# -ne 1 ] || [ ! -d "$1" ] || pod=${1##*/}
	fi
	case $pod in
	openshift-*_*_* | kubernetes-*_*_* | kube-*_*_*)
		owner=${pod#*_}
		owner="$uid ${pod%%_*} ${owner%_*}"
		;;
	*_*_*) owner='' ;;
	esac
}

# group takes the UID of the first pod in the path of a control group, the outermost, as
# systemd's driver or the other writes it: kubepods-pod1f_2e.slice, pod1f-2e. Below that,
# who runs there may name groups. It sets uid to - where two differ.
group() {
	todo=$1
	while [ -n "$todo" ]; do
		part=${todo%%/*}
		case $todo in
		*/*) todo=${todo#*/} ;;
		*) todo='' ;;
		esac
		case $part in
		*kubepods*-pod*.slice*)
			part=${part%%.slice*}
			part=${part##*-pod}
			;;
		pod*) part=${part#pod} ;;
		*kubepods*)
			doubt=1
			continue
			;;
		*) continue ;;
		esac
		while :; do
			case $part in
			*_*) part=${part%%_*}-${part#*_} ;;
			*) break ;;
			esac
		done
		case $part in
		*[!0-9a-f-]* | '' | -) continue ;;
		esac
		[ "${#part}" -ge 32 ] || continue
		[ "${uid:-$part}" = "$part" ] || part=-
		uid=$part
		return
	done
}

# ---- finding files ----------------------------------------------------------

# resolve follows the links in a path of the node, as the node would: a link to
# /etc means $ROOT/etc. It sets real, without $ROOT.
resolve() {
	todo=$1 real='' links=0
	while [ -n "$todo" ]; do
		part=${todo%%/*}
		case $todo in
		*/*) todo=${todo#*/} ;;
		*) todo= ;;
		esac
		case $part in
		'' | .) continue ;;
		..)
			real=${real%/*}
			continue
			;;
		esac
		if [ -L "$root$real/$part" ]; then
			links=$((links + 1))
			[ "$links" -le 20 ] || return 1
			target "$root$real/$part"
			case $link in
			/*) real= ;;
			esac
			todo=$link/$todo
		else
			real=$real/$part
		fi
	done
}

# target sets link to what a link says. The x keeps newlines at its end.
target() {
	link=$(readlink "$1" && echo x)
	link=${link%"$nl"x}
}

# Names travel one after another, newlines in them included: each starts with
# $ROOT and two slashes, which stand nowhere else in what find prints. With
# three slashes, it is a message.
walk() {
	absent=0
	for path; do
		case $path in
		r*) path=${path#r} ;;
		*) continue ;;
		esac
		# To look for what is not there takes less than to ask for the time.
		if [ $((absent % 8)) -eq 0 ] && late; then
			printf '%s\n' "$root///late"
			return
		elif start "$path" || matches "$path"; then
			absent=0
		else
			printf '%s\n' "$root///none $path"
			absent=$((absent + 1))
		fi
	done
}

# matches starts from every match of a pattern.
matches() {
	fixed=${1%%[\[*?]*} # up to the first component that is a pattern
	[ "$fixed" != "$1" ] || return 1
	fixed=${fixed%/*}
	resolve "$fixed" || return 1
	# Split by nothing, expand patterns: that is what is wanted here.
	IFS=
	# shellcheck disable=SC2086
	set -- "$root/$real"${1#"$fixed"}
	unset IFS
	[ -e "$1" ] || [ -L "$1" ] || return 1
	for match; do
		start "${match#"$root/"}"
	done
}

# start prints the names at and below one path.
start() {
	resolve "${1%/*}" || return 1
	real=$real/${1##*/}
	[ -e "$root$real" ] || [ -L "$root$real" ] || return 1
	[ "$real" = "$1" ] || printf '%s\n' "$root///alias $1$nl$real"
	if [ -L "$root$real" ]; then
		printf '%s\n' "$root/$real"
		resolve "$real" && [ -d "$root$real" ] || return 0
	fi
	if [ -d "$root$real" ]; then
		printf '%s\n' "$root///below $real"
		limited "$left" find "$root/$real" -xdev -maxdepth "$depth" 2>/dev/null
		case $? in
		0) ;;
		1) printf '%s\n' "$root///partial $real" ;;
		*) printf '\n%s\n' "$root///partial $real" ;; # killed, perhaps in the middle of a name
		esac
	else
		printf '%s\n' "$root/$real"
	fi
	return 0
}

# crowded tells whether a name is one too many of its directory, so that a folder
# full of something else does not use up what is meant for all.
crowded() {
	if [ "${1%/*}" != "$folder" ]; then
		folder=${1%/*} names=0
	fi
	names=$((names + 1))
	[ "$names" -gt 1000 ] || return 1
	[ "$names" -ne 1001 ] || say walk crowded "${folder#"$root/"}"
}

# collect takes names, 64 together to save processes.
collect() {
	set --
	name='' below='' real='' count=0 total=0 stopped='' known='' folder='' names=0 skip=''
	while IFS= read -r record; do
		case $record in
		"$root///"*) skip='' ;;
		"$root//"*)
			skip=''
			if crowded "$record"; then
				skip=1
				continue
			fi
			;;
		*)
			[ -n "$skip" ] || name=$name$nl$record
			continue
			;;
		esac
		if [ -n "$name" ] && take "$name"; then
			case $name in
			*"$nl"*) chunk "$name" ;; # not every tool writes such names on one line
			*) set -- "$@" "$name" ;;
			esac
		fi
		[ -z "$real" ] || set -- "$@" "$root/$real"
		name=$record
		if [ $# -ge 64 ] || [ $((count + $#)) -ge "$files" ]; then
			chunk "$@"
			set --
			[ "$count" -lt "$files" ] || stopped='files'
			within || break
		fi
	done
	chunk "$@"
	if [ -z "$stopped" ] && [ -n "$name" ] && take "$name"; then
		chunk "$name"
		[ -z "$real" ] || chunk "$root/$real"
	fi
	[ -z "$stopped" ] || echo "walk stopped $stopped"
	echo "walk done $count $total"
}

# within tells whether there is time and room for more.
within() {
	if [ -z "$stopped" ] && late; then
		stopped='time'
	fi
	[ -z "$stopped" ]
}

# take obeys messages, and returns whether it is a name. For a link to a file
# it sets real to that file, else to nothing.
take() {
	real=
	case $1 in
	"$root///below "*)
		below=$root/${1#"$root///below "}
		return 1
		;;
	"$root///late")
		stopped='time'
		return 1
		;;
	"$root///partial "*)
		say walk partial "${1#"$root///partial "}"
		return 1
		;;
	"$root///none "*)
		say none "${1#"$root///none "}"
		return 1
		;;
	"$root///alias "*)
		real=${1#"$root///alias "}
		say alias "${real%"$nl"*}" "${real##*"$nl"}"
		real=
		return 1
		;;
	esac
	if [ -L "$1" ]; then
		resolve "${1#"$root/"}" && [ -f "$root$real" ] || real=
	elif [ -d "$1" ]; then
		deeper=${1#"$below"}
		levels=0
		while [ "$deeper" != "${deeper#*/}" ]; do
			deeper=${deeper#*/}
			levels=$((levels + 1))
		done
		[ "$levels" -lt "$depth" ] || say walk deep "${1#"$root/"}"
	fi
	return 0
}

# ---- reading files ----------------------------------------------------------

# chunk reads some files together; when something about them is unusual, one by
# one.
chunk() {
	[ $# -gt 0 ] || return 0
	count=$((count + $#))
	if [ $# -gt 1 ]; then
		attempt "$@" && return
	fi
	for one; do
		within || return 0
		tries=3
		while [ "$tries" -gt 0 ]; do
			attempt "$one"
			case $? in
			0) break ;;
			2) tries=0 ;; # it takes too long, and would again
			*) tries=$((tries - 1)) ;;
			esac
		done
		[ "$tries" -gt 0 ] || lost "$one"
	done
}

lost() {
	if [ -e "$1" ] || [ -L "$1" ]; then
		say lost "could not be read: it changed all the time, or took too long" "${1#"$root/"}"
	else
		say lost "vanished while it was read" "${1#"$root/"}"
	fi
}

# attempt prints the records of some files. It prints nothing and fails unless
# each of them was read, and was the same before and after: 2 where reading
# itself failed.
attempt() {
	meta=$(limited 10 stat -c "$format" "$@" 2>/dev/null)
	rest=$meta$nl kinds='' plan='' read=0
	for file; do
		line=${rest%%"$nl"*}
		rest=${rest#*"$nl"}
		[ -n "$line" ] || return 1
		kind "$file" "${line%% *}"
		kinds=$kinds$kind
		plan=$plan$kind" $line$nl"
	done
	[ -z "$rest" ] || return 1
	sums=
	case $kinds in
	*[RH]*) sums=$(selected "$@") ;;
	esac
	body=$(printf '%s\n' "$((${#root} + 1)) $output $#" "$plan$sums" | annotated "$@") || return 2
	case $body in
	*"${nl}binary"*) ;;
	*) return 2 ;;
	esac
	binary=${body##*"${nl}binary"}
	body=${body%"${nl}binary"*}
	keyed=${body##*"${nl}keyed"}
	body=${body%"${nl}keyed"*}
	learned=
	closer "$@"
	case $kinds in
	*[RH]*) [ "$(limited 10 stat -c "$format" "$@" 2>/dev/null)" = "$meta" ] || return 1 ;;
	esac
	total=$((total + read))
	known=$known$learned
	printf '%s\n' "$body"
}

# kind sets kind to a letter that says what a file of some size is, and what is
# done with it. Nothing but R and H is ever opened.
kind() {
	if [ -L "$1" ]; then
		kind=L
	elif [ -f "$1" ]; then
		if ! [ -r "$1" ]; then
			kind=U # unreadable
		elif [ "$2" -gt "$size" ]; then
			kind=G # too large
		elif [ $((total + read + $2)) -gt "$most" ]; then
			kind=T # too much in total
		elif hashed "${1#"$root/"}"; then
			kind=H read=$((read + $2))
		else
			kind=R read=$((read + $2))
		fi
	elif [ -d "$1" ]; then
		kind=D
		[ -r "$1" ] && [ -x "$1" ] || kind=X # can't be listed
	elif [ -p "$1" ]; then
		kind=P
	elif [ -S "$1" ]; then
		kind=S
	elif [ -b "$1" ] || [ -c "$1" ]; then
		kind=C
	else
		kind=O
	fi
}

# hashed tells whether a path is, or is below, one that is only hashed.
hashed() {
	up=$1
	while [ -n "$up" ]; do
		case $only in
		*"$nl$up$nl"*) return 0 ;;
		esac
		up=${up%/*}
	done
	return 1
}

# selected hashes those of the files whose letter is R or H.
selected() {
	letters=$kinds n=$#
	for file; do
		case $letters in
		[RH]*) set -- "$@" "$file" ;;
		esac
		letters=${letters#?}
	done
	shift "$n"
	hash "$@"
}

# annotated gives awk the names; a link's is followed by what it says and where
# it leads.
annotated() {
	letters=$kinds n=$#
	for file; do
		set -- "$@" "$file"
		case $letters in
		L*)
			target "$file"
			text=$link
			resolve "${file#"$root/"}" && [ -e "$root$real" ] || real=
			set -- "$@" "/$text" "$real"
			;;
		esac
		letters=${letters#?}
	done
	shift "$n"
	limited 20 awk "$AWK" files "$@" 2>/dev/null
}

# closer looks again at files that awk found keys in, or could not read as text.
closer() {
	letters=$kinds rest=$sums$nl i=0
	for file; do
		i=$((i + 1))
		letter=${letters%"${letters#?}"}
		letters=${letters#?}
		case $letter in
		[RH]) ;;
		*) continue ;;
		esac
		sum=${rest%%"$nl"*}
		rest=${rest#*"$nl"}
		sum=${sum#\\}
		sum=${sum%%[!0-9a-f]*}
		case $known$learned in
		*"$sum"*) continue ;;
		esac
		case "$keyed " in
		*" $i "*) public "$file" ;;
		esac
		case "$binary " in
		*" $i "*) bytes "$file" ;;
		esac
	done
}

# public adds the sha256 of the public half of a file's first private key. The
# key itself goes no further than openssl.
public() {
	[ -n "$openssl" ] || return 0
	learned=$learned$nl$sum
	half=$(limited 5 openssl pkey -in "$1" -passin pass: -pubout -outform DER 2>/dev/null </dev/null | hash)
	half=${half%%[!0-9a-f]*}
	case $half in
	'' | e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855) return ;; # of nothing: no answer
	esac
	body=$body${nl}"more $sum public${nl}spki $half"
}

# bytes reads a small file that is not text: it may be a certificate's DER.
bytes() {
	learned=$learned$nl$sum
	found=$(limited 5 od -An -v -tx1 -N65537 "$1" 2>/dev/null </dev/null | awk "$AWK" der "$sum")
	[ -z "$found" ] || body=$body$nl$found
}

# ---- logs -------------------------------------------------------------------

# logs looks for something (aim) in the logs whose paths start with a letter.
logs() {
	letter=$1 aim=$2
	shift 2
	n=$#
	for path; do
		case $path in
		"$letter"*) set -- "$@" "r${path#?}" ;;
		esac
	done
	shift "$n"
	[ $# -eq 0 ] || walk "$@" | searched
}

# searched takes names as collect does. What is not there is no gap: only some
# nodes have such logs.
searched() {
	room=16777216 names=0
	while IFS= read -r record; do
		case $record in
		"$root///late")
			unsearched "it took too long before" ''
			return
			;;
		"$root///"*) continue ;;
		"$root//"*) ;;
		*) continue ;; # the rest of a name of several lines
		esac
		file=$record
		if [ -L "$file" ]; then
			resolve "${file#"$root/"}" || continue
			file=$root$real
		fi
		if ! [ -f "$file" ] || [ "${#record}" -gt 1000 ]; then
			continue
		fi
		names=$((names + 1))
		if late || [ "$room" -le 0 ] || [ "$names" -gt 64 ]; then
			unsearched "enough was read of other logs, or it took too long" "${record#"$root/"}"
			return
		fi
		if [ -r "$file" ]; then
			case $letter in
			l) search "$file" "${record#"$root/"}" ;;
			t) refusals "$file" "${record#"$root/"}" ;;
			esac
		else
			unsearched "not readable" "${record#"$root/"}"
		fi
	done
}

unsearched() { say lost "not searched for $aim: $1" "$2"; }

# search counts, in one log, the lines that give away a token or a key. Of a log
# without any nothing is said, and of the lines themselves never. What awk answers are
# numbers and times; the first number is that of bytes, the second says whether it was
# all.
search() {
	case $2 in
	*.gz)
		if ! has gzip; then
			unsearched "there is no gzip" "$2"
			return
		fi
		found=$({ limited 10 gzip -dc <"$1" 2>/dev/null || printf '\ncertrot: cut\n'; } | limited 10 awk "$AWK" logged "$room" 2>/dev/null)
		;;
	*) found=$(limited 10 awk "$AWK" logged "$room" <"$1" 2>/dev/null) ;;
	esac
	case $found in
	[0-9]*\ [01]\ [0-9]*\ [0-9]*\ *\ *) ;;
	*)
		unsearched "it changed, or took too long" "$2"
		return
		;;
	esac
	room=$((room - ${found%% *}))
	found=${found#* }
	[ "${found%% *}" = 1 ] || unsearched "only its first part was read" "$2"
	found=${found#* }
	case $found in
	"0 0 "*) return ;;
	esac
	first=${found#* * }
	last=${first#* }
	keys=${found#* }
	case $last in
	-) first='' last='' ;;
	esac
	say log "$(limited 10 stat -c %f "$1" 2>/dev/null)" "${found%% *}" "${keys%% *}" "${first%% *}" "$last" "$2"
}

# refusals reads the end of a server's log.
refusals() {
	if ! has tail; then
		unsearched "there is no tail" "$2"
		return
	fi
	found=$(limited 10 tail -c 8388608 "$1" 2>/dev/null | limited 10 awk "$AWK" refused "$2" 2>/dev/null)
	case $found in
	"heard "*"${nl}bytes "[0-9]*) ;;
	*)
		unsearched "it took too long" "$2"
		return
		;;
	esac
	room=$((room - ${found##*"${nl}bytes "}))
	printf '%s\n' "${found%"${nl}bytes "*}"
}

# ---- all of it --------------------------------------------------------------

gather() {
	echo "certrot-gather 1"
	clock
	facts
	processes "$@"
	[ -z "$config" ] || set -- "$@" "r$config"
	walk "$@" | collect | awk "$AWK" limit "$output"
	logs l tokens "$@"
	logs t "refused handshakes" "$@"
	clock
}

main() {
	timeout=''
	if ! has awk || ! has stat || ! has find || ! has readlink; then
		echo "certrot-gather 1"
		echo "fatal awk,%20stat,%20find%20and%20readlink%20are%20needed%20on%20the%20node"
		exit 0
	fi
	# In the foreground, what it runs stays in our process group, and ends when
	# whoever started us ends that.
	if timeout --foreground -s KILL 5 true >/dev/null 2>&1; then
		timeout='timeout --foreground -s KILL'
	elif timeout -s KILL 5 true >/dev/null 2>&1; then
		timeout='timeout -s KILL'
	fi
	sha='' openssl=''
	for tool in openssl shasum sha256sum; do
		has "$tool" && sha=$tool
	done
	has openssl && openssl=openssl
	if [ -z "$sha" ]; then
		echo "certrot-gather 1"
		echo "fatal sha256sum,%20shasum%20or%20openssl%20is%20needed%20on%20the%20node"
		exit 0
	fi
	if [ $# -lt 7 ]; then
		echo "fatal arguments"
		exit 0
	fi
	case $2$3$4$5$6$7 in
	*[!0-9]*)
		echo "fatal arguments"
		exit 0
		;;
	esac
	root=${1%/} files=$2 size=$3 most=$4 output=$5 left=$6 depth=$7
	shift 7
	deadline=$(($(date +%s) + left))
	format='%s %Y %Z %i %d %f %u %g %U %G %C'
	# Names of users are those of the root that this runs in.
	[ -z "$root" ] || format='%s %Y %Z %i %d %f %u %g - - %C'
	only=$nl
	for path; do
		case $path in
		h*) only=$only${path#h}$nl ;;
		esac
	done
	out=$(gather "$@" 2>/dev/null)
	printf '%s\n' "$out"
	left=10
	sum=$(printf '%s\n' "$out" | hash)
	printf 'end %s %s\n' "$((${#out} + 1))" "${sum%%[!0-9a-f]*}"
}

# Only here, when all of it has arrived, does anything run; and nothing that
# runs can read from the program's own text.
main "$@" </dev/null
exit 0
