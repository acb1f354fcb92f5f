# Connects stdin and stdout to HOST PORT, and leaves nothing behind when one of
# the three is closed. bash can't close one half of a connection: when stdin is at
# its end, the far side isn't told, and has ten seconds to send the rest.
exec 3<>"/dev/tcp/$1/$2" || exit 1
exec 4<&0 </dev/null
echo "certrot-relay bash"
cat <&3 3>&- 4<&- &
down=$!

# Not "wait -n" for the first of two: it misses one that exited before.
{
	trap 'kill "$!" 2>/dev/null; exit' TERM
	cat <&4 >&3 3>&- 4<&- &
	exec 3>&- 4<&-
	wait "$!"
	sleep 10 >/dev/null 2>&1 &
	wait "$!"
	kill "$down" 2>/dev/null
} &
up=$!
exec 3>&- 4<&-

wait "$down"
code=$?
kill "$up" 2>/dev/null
wait "$up"
[ "$code" -ne 143 ] || code=0 # by the kill above
exit "$code"
