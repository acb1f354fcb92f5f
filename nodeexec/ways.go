package nodeexec

// The ways onto nodes, by the names that --via takes and that Transport.Name tells.
const (
	ViaLocal = "local"
	ViaExec  = "exec"
	ViaSSH   = "ssh"
	ViaDebug = "debug"
)

// Ways are all of them, in the order in which they are tried: what changes least first.
func Ways() []string { return []string{ViaLocal, ViaExec, ViaSSH, ViaDebug} }
