# Kills a process group.
#
#   kill.sh GROUP
kill -s KILL -- "-$1"
