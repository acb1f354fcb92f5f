package nodeexec

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/user"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
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

// DebugMeta is for a pod, or a namespace for such pods, that another caller makes: a new
// name, and the marks by which a Debug's sweep finds what a killed process has left.
func DebugMeta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: debugPrefix + utilrand.String(8), Labels: map[string]string{debugLabel: "true"}, Annotations: withOwner(map[string]string{})}
}
