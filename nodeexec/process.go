package nodeexec

import (
	"fmt"
	"strconv"
	"strings"
)

// Holder is a process that holds something which others see, by its user, and by
// where it runs.
type Holder struct{ owner }

// ThisHolder is this one.
func ThisHolder() Holder { return Holder{thisOwner()} }

// String is such as "alice@bastion (pid 1234 of 0f3c…)": what Gone reads.
func (p Holder) String() string {
	return fmt.Sprintf("%s@%s (pid %d of %s)", p.user, p.host, p.pid, p.machine)
}

// Gone reports whether the process that says text of itself, by String, ran on this
// machine and is no more. In doubt it is there.
func Gone(text string) bool {
	_, rest, ok := strings.Cut(text, " (pid ")
	number, machine, ok2 := strings.Cut(rest, " of ")
	machine, _, ok3 := strings.Cut(machine, ")")
	pid, err := strconv.Atoi(number)
	here := thisOwner().machine
	return ok && ok2 && ok3 && err == nil && pid > 0 && here != "" && machine == here && !isAlive(pid)
}
