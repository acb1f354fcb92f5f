# Says which process group it is in, and becomes the command: so that who
# sees the line knows that the command runs, and how to end it.
#
#   start.sh NONCE COMMAND ARGUMENT...
IFS=' ' read -r _ _ _ _ group _ </proc/$$/stat || exit 126
printf '%s %s\n' "$1" "$group"
shift
exec "$@"
