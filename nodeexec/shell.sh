# Runs one command and says how it ended. It comes with the command's stdin,
# line by line, because arguments in a request would be in audit logs, would have
# to fit in a URL, and could hold only UTF-8:
#
#   a word that nothing else on this machine knows
#   the number of arguments
#   each of them, with the escapes of printf's %b
#
# Until that has come, nothing runs. The word and the exit status are the last
# line on stdout: without it, the output is not all of it. Then it waits for the
# end of stdin, which the other side sends when it has read that line: whatever
# lies between may discard what is on its way when an exec is over.
#
#   shell.sh [PATH]
# In a chroot, what the image says is of no use.
if [ -n "$1" ]; then
	PATH=$1 HOME=/root
	export PATH HOME
fi
# All of these numbers are of one PID namespace: that of this /proc. A group
# that is shared with others must not be killed.
IFS=' ' read -r pid _ _ _ group _ </proc/self/stat || exit 126
[ "$pid" = "$group" ] || group=0
echo "certrot-exec $group"

IFS= read -r word && IFS= read -r left || exit 125
set --
while [ "$left" -gt 0 ]; do
	IFS= read -r arg || exit 125
	# The dot saves newlines at the end.
	arg=$(printf '%b.' "$arg")
	set -- "$@" "${arg%.}"
	left=$((left - 1))
done
(exec "$@")
echo "$word $?"
cat >/dev/null 2>&1
