package nodeexec

// The ways onto nodes, by the names that --via takes and that Transport.Name tells.
const (
	ViaLocal   = "local"
	ViaExec    = "exec"
	ViaCommand = "command"
	ViaSSH     = "ssh"
	ViaDebug   = "debug"
)

// Way is what is known of a way onto nodes before it is tried.
type Way struct {
	Name    string
	Help    string // what the help of --via adds to the name
	When    string // where auto tries it, as that help says; "": everywhere
	Kubelet bool   // it leads through the API server and the node's kubelet
	Creates bool   // it makes something to get there: auto tries it where that is allowed
	Suggest bool   // --via NAME may be the next step where another way failed
	// NeedsNoAPI: it leads to other machines while the API does not answer.
	NeedsNoAPI bool
	// IfConfigured: auto takes it onto the nodes of which its configuration speaks, and onto no others.
	IfConfigured bool
	// ProvesAddress: AddressOf tells where a node was reached by it, as a rule.
	ProvesAddress bool
	// Resumable: --via NAME alone leads onto the nodes again that were read by it.
	Resumable bool
}

// Ways are all of them, in the order in which they are tried: what changes least first.
func Ways() []Way {
	return []Way{
		{Name: ViaLocal},
		{Name: ViaExec, Help: "into the machine-config-daemon", Kubelet: true, Suggest: true},
		{Name: ViaCommand, Help: "your own, see --node-command", When: "with --node-command", NeedsNoAPI: true},
		{Name: ViaSSH, When: "where it is configured", Suggest: true, NeedsNoAPI: true, IfConfigured: true, ProvesAddress: true, Resumable: true},
		{Name: ViaDebug, Help: "a pod of its own", When: "with --allow-pods", Kubelet: true, Creates: true, Suggest: true},
	}
}

// WayOf is the way of that name, as a Node of FirstOf or a snapshot has it; zero: there is none.
func WayOf(name string) Way {
	for _, w := range Ways() {
		if w.Name == name {
			return w
		}
	}
	return Way{}
}
