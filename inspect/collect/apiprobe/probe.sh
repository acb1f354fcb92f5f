# Asks servers what they say to a client whose credentials lie on this node: the API
# server to the kubelet, or a kubelet to kube-apiserver. The credentials do not leave
# the node, but for what a request has of them: they go from their file through a
# pipe to curl, or to openssl, and are never an argument, a variable, part of the
# environment or a file. Nothing is written to the node, no temporary file
# either. A credential is only sent to a server that the file's own CA verifies.
#
# It runs in the node's own root under any POSIX shell (dash, bash, busybox), as
# the standard input of `sh -s -- ARGUMENTS`.
#
# Arguments: SECONDS for one request, then ten for each request:
#   FILE     a kubeconfig, or a client certificate
#   SHA256   of FILE, as it was when it was read: offsets are of that text
#   HOST     to connect to
#   PORT
#   NAME     that the server's certificate is to be for
#   PATH     of the URL
#   CA CERT KEY TOKEN  where to take it from; - is none:
#     f:PATH           a file
#     b:OFFSET:LENGTH  base64 in FILE
#     t:OFFSET:LENGTH  text in FILE
#
# It answers with a line "tool", then one for each request:
#   answer EXIT CODE ADDRESS REASON USER
# EXIT is curl's exit status, whoever asks; 200 and above are our own: 201 FILE
# changed, 202 the token has odd characters, 203 there is no tool, 204 what is to
# be presented can't be read, 205 openssl ended and did not say why.
# shellcheck shell=sh
# Who asks is called by name.
# shellcheck disable=SC2317

LC_ALL=C
export LC_ALL
# What would make curl or openssl write keys of a session down, or trust others.
unset SSLKEYLOGFILE OPENSSL_CONF SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE
umask 077

has() { command -v "$1" >/dev/null 2>&1; }

# offer writes what a source names.
offer() {
	case $1 in
	f:*) cat <"${1#f:}" ;;
	b:*) part "${1#b:}" | decoded ;;
	t:*) part "${1#t:}" ;;
	esac 2>/dev/null
}

# part is OFFSET:LENGTH of the file.
part() { tail -c "+$((${1%:*} + 1))" <"$file" | head -c "${1#*:}"; }

decoded() {
	if has base64; then
		tr -d ' \r\n' | base64 -d
	else
		tr -d ' \r\n' | openssl base64 -d -A
	fi
}

# readable tells whether there is something at all of a source.
readable() {
	[ "$1" = - ] || [ "$(offer "$1" | head -c 1 | wc -c)" -eq 1 ]
}

# odd tells whether a token holds what no token may, which could end its line.
odd() {
	[ "$1" != - ] && [ "$(token "$1" | tr -d 'A-Za-z0-9._~+/=-' | wc -c)" -ne 0 ]
}

# token is one without the newline that a file may end with.
token() { offer "$1" | tr -d '\r\n'; }

unchanged() {
	sum=$(sha256sum <"$1" 2>/dev/null || shasum -a 256 <"$1" 2>/dev/null || openssl dgst -sha256 -r <"$1" 2>/dev/null)
	[ "${sum%%[!0-9a-f]*}" = "$2" ]
}

# pipes runs a command with the CA, the certificate and the key at the
# descriptors 3, 4 and 5.
pipes() {
	offer "$ca" | {
		exec 3<&0
		offer "$cert" | {
			exec 4<&0
			offer "$key" | {
				exec 5<&0
				"$@"
			}
		}
	}
}

# reason is the beginning of an awk program: the server's word for a refusal, and
# as which user it knows the client that it refuses.
# shellcheck disable=SC2016
reason='
	reason == "" && match($0, /"reason": *"[A-Za-z]+"/) {
		reason = substr($0, RSTART, RLENGTH)
		sub(/^.*: *"/, "", reason)
		sub(/"$/, "", reason)
	}
	user == "" && match($0, /User \\"[A-Za-z0-9:._@-]+\\" cannot /) {
		user = substr($0, RSTART + 7, RLENGTH - 17)
	}
	END {
		if (code + 0 < 400 || length(reason) > 40) reason = ""
		if (code + 0 != 403 || length(user) > 400) user = ""
	}
'

# ---- curl -------------------------------------------------------------------

by_curl() {
	where=$name
	case $where in
	*:*) where="[$where]" ;;
	esac
	set -- --silent --proto '=https' --noproxy '*' --http1.1 --connect-timeout "$seconds" --max-time "$seconds" --max-filesize 8388608 \
		--cacert /dev/fd/3 --capath /dev/null --user-agent kubectl-certrot --header 'Accept: application/json' \
		--write-out '\ncertrot %{http_code} %{remote_ip}\n'
	[ "$cert" = - ] || set -- "$@" --cert /dev/fd/4 --key /dev/fd/5
	there=$host
	case $there in
	*:*) there="[$there]" ;;
	esac
	[ "$name" = "$host" ] || set -- "$@" --connect-to "$where:$port:$there:$port"
	{
		pipes curl_with "$@" "https://$where:$port$path"
		echo "exit $?"
	} | awk "$reason"'
		/^certrot [0-9]+ ?[0-9a-fA-F.:]*$/ { code = $2; address = $3 }
		/^exit [0-9]+$/ { status = $2 }
		END {
			print "answer", status + 0, code + 0, address == "" ? "-" : address, reason == "" ? "-" : reason, user == "" ? "-" : user
		}'
}

curl_with() {
	if [ "$token" = - ]; then
		curl -q "$@" 2>/dev/null </dev/null
		return
	fi
	{
		printf 'header = "Authorization: Bearer '
		token "$token"
		printf '"\n'
	} | curl -q --config - "$@" 2>/dev/null
}

# ---- openssl ----------------------------------------------------------------

by_openssl() {
	where=$host
	case $where in
	*:*) where="[$where]" ;;
	esac
	verify=-verify_hostname
	case $name in
	*:*) verify=-verify_ip ;;
	*[!0-9.]*) ;;
	*) verify=-verify_ip ;;
	esac
	set -- -quiet -connect "$where:$port" -verify 9 -verify_return_error "$verify" "$name" -partial_chain -CAfile /dev/fd/3 -no-CApath
	[ "$verify" = -verify_ip ] || set -- "$@" -servername "$name"
	[ "$cert" = - ] || set -- "$@" -cert /dev/fd/4 -key /dev/fd/5
	{
		pipes openssl_with "$@"
		echo "exit $?"
	} | awk "$reason"'
		/^HTTP\/1\.[01] [0-9][0-9][0-9]/ && code == "" { code = $2 }
		/^verify error|certificate verify failed/ { bad = 60 }
		/getaddrinfo|[Nn]ame or service not known|lookup/ { bad = 6 }
		/Connection refused|connect:errno|No route|unreachable/ && !bad { bad = 7 }
		/[Uu]nable to load|[Cc]ould not (open|read|find)|Can.t open/ && !bad { bad = 58 }
		/SSL routines|[^a-z]alert / && !bad { bad = 35 }
		/(read|write):errno|unexpected eof/ && !bad { bad = 56 }
		/^exit [0-9]+$/ { status = $2 }
		END {
			if (code != "") status = 0
			else if (status == 124 || status == 137) status = 28
			else status = bad ? bad : 205
			print "answer", status, code + 0, "-", reason == "" ? "-" : reason, user == "" ? "-" : user
		}'
}

openssl_with() {
	{
		printf 'GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: kubectl-certrot\r\nAccept: application/json\r\nConnection: close\r\n' "$path" "$name"
		if [ "$token" != - ]; then
			printf 'Authorization: Bearer '
			token "$token"
			printf '\r\n'
		fi
		printf '\r\n'
	} | timeout -s KILL "$seconds" openssl s_client "$@" 2>&1
}

# ---- all of it --------------------------------------------------------------

# tool chooses who asks. curl before 7.49 can't connect elsewhere than to the name,
# and one of another TLS library takes no certificates from a pipe.
tool() {
	version='' tls=''
	if has curl; then
		version=$(curl -q --version 2>/dev/null | head -n 1 | tr -cd 'A-Za-z0-9 ._/()-')
		tls=$version
		number=${version#curl }
		major=${number%%.*}
		minor=${number#*.}
		minor=${minor%%.*}
		case $major$minor in
		'' | *[!0-9]*) major=0 minor=0 ;;
		esac
		case $tls in
		*OpenSSL/* | *LibreSSL/* | *BoringSSL* | *AWS-LC/*)
			if [ "$major" -gt 7 ] || [ "$major" -eq 7 ] && [ "$minor" -ge 49 ]; then
				by=by_curl
				echo "tool $version"
				return
			fi
			;;
		esac
	fi
	if has openssl && has timeout; then
		with=$(openssl version 2>/dev/null | tr -cd 'A-Za-z0-9 ._/()-')
		case $with in
		'OpenSSL 1.1.'* | 'OpenSSL '[3-9].*)
			by=by_openssl
			echo "tool $with"
			return
			;;
		esac
	fi
	by=''
	echo "tool none $version"
}

main() {
	echo "certrot-probe 1"
	if ! has awk || ! has tail || ! has head || ! has tr || ! has cat || ! has wc; then
		echo "tool lacking"
		echo end
		return
	fi
	tool
	seconds=$1
	shift
	unanswered=''
	while [ $# -ge 10 ]; do
		file=$1 sum=$2 host=$3 port=$4 name=$5 path=$6 ca=$7 cert=$8 key=$9
		shift 9
		token=$1
		shift
		if [ -z "$by" ]; then
			line='answer 203 0 - - -'
		elif [ "$unanswered" = "$file $cert $token $host $port" ]; then
			: # the same again: the server is not to be waited for twice
		elif ! unchanged "$file" "$sum"; then
			line='answer 201 0 - - -'
		elif odd "$token"; then
			line='answer 202 0 - - -'
		elif ! readable "$ca" || ! readable "$cert" || ! readable "$key" || ! readable "$token"; then
			line='answer 204 0 - - -'
		else
			line=$("$by")
		fi
		unanswered=''
		case $line in
		'answer 0 '*) ;;
		*) unanswered="$file $cert $token $host $port" ;;
		esac
		echo "$line"
	done
	echo end
}

# Only here, when all of it has arrived, does anything run.
main "$@" </dev/null 2>/dev/null
exit 0
