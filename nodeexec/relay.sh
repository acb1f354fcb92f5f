# Connects stdin and stdout to an address, with the first of the named programs
# that is here. Says "certrot-relay NAME" before the first byte that comes from
# the address, or "certrot-relay none".
#
#   relay.sh HOST PORT RELAY.BASH NAME...
host=$1 port=$2 bash=$3
shift 3
# What goes wrong is told in words that the other side knows.
LC_ALL=C
export LC_ALL

for relay do
	case $relay in
	bash)
		command -v bash >/dev/null 2>&1 || continue
		# Built without network redirections, it looks for a file of that
		# name; with them, it is refused at port 0.
		case $(bash -c ': </dev/tcp/127.0.0.1/0' 2>&1) in
		*'No such file'*) continue ;;
		esac
		exec bash -c "$bash" bash "$host" "$port"
		;;
	busybox)
		busybox nc --help >/dev/null 2>&1 || continue
		echo "certrot-relay $relay"
		exec busybox nc "$host" "$port"
		;;
	socat)
		command -v socat >/dev/null 2>&1 || continue
		case $host in
		*:*) host="[$host]" ;;
		esac
		echo "certrot-relay $relay"
		# When one side is closed, the other one has two seconds.
		exec socat -t 2 - "TCP:$host:$port"
		;;
	ncat)
		command -v ncat >/dev/null 2>&1 || continue
		echo "certrot-relay $relay"
		exec ncat "$host" "$port"
		;;
	nc)
		command -v nc >/dev/null 2>&1 || continue
		case $(nc -h 2>&1 </dev/null) in
		*OpenBSD*) set -- -v -N ;; # say what fails; pass on the end of stdin
		*) set -- ;;
		esac
		echo "certrot-relay $relay"
		exec nc "$@" "$host" "$port"
		;;
	esac
done
echo "certrot-relay none"
