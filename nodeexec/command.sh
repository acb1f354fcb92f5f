# Comes to a shell by its stdin, on one line with what follows it. Says that it is
# there, and becomes shell.sh, as root, in a process group of its own: whatever
# started the shell may share its group with others, and that must not be killed.
#
#   command.sh WORD WORD sudo|self SHELL.SH
#
# The two words are written as one, which the echo of a terminal never is. On stderr, too:
# what is there before them is the login's, and may be a password in any form.
if [ -t 0 ] || [ -t 1 ]; then
	printf '%s%s terminal\n' "$1" "$2"
	exit 126
fi
# Numbers of processes in another /proc would lead a kill astray.
IFS=' ' read -r pid _ </proc/self/stat
if [ "$pid" != "$$" ]; then
	printf '%s%s processes\n' "$1" "$2"
	exit 126
fi
printf '%s%s\n' "$1" "$2" >&2
printf '%s%s\n' "$1" "$2"
# setsid forks where it leads a group already: a subshell does not. What comes
# behind it keeps the shell from becoming it.
group='own=
command -v setsid >/dev/null 2>&1 && own=setsid
(exec $own sh -c "$1" sh "")
exit $?'
case $3 in
sudo) exec sudo -n -- sh -c "$group" sh "$4" ;;
esac
exec sh -c "$group" sh "$4"
