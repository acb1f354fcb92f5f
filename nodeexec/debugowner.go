package nodeexec

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/user"
	"strconv"
)

// owner is the process that makes debug pods.
type owner struct {
	user, host string // for people
	machine    string // this boot of this machine, and who sees whose process IDs; "" is unknown
	pid        int
}

func thisOwner() owner {
	o := owner{user: "unknown", host: "unknown", pid: os.Getpid()}
	if u, err := user.Current(); err == nil {
		o.user = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		o.host = h
	}
	// Without both, a process ID may be of another machine of the same name.
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return o
	}
	processes, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return o
	}
	sum := sha256.Sum256([]byte(o.host + "\n" + string(boot) + "\n" + processes))
	o.machine = hex.EncodeToString(sum[:16])
	return o
}

// withOwner adds to annotations whose something is.
func withOwner(annotations map[string]string) map[string]string {
	o := thisOwner()
	annotations[debugUser], annotations[debugHost] = o.user, o.host
	annotations[debugMachine], annotations[debugPID] = o.machine, strconv.Itoa(o.pid)
	return annotations
}

// dead says whether something was made here, by a process that is gone.
func (o owner) dead(m objectMeta) bool {
	pid, err := strconv.Atoi(m.Annotations[debugPID])
	return err == nil && pid > 0 && o.machine != "" && m.Annotations[debugMachine] == o.machine && !isAlive(pid)
}
