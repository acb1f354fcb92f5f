// Package nodeexec is how to get onto a node: run a command there, talk to a
// running one, open a connection from the node's own network. It knows nothing
// of certificates, and what is run is its caller's business.
//
// A Transport reaches nodes in one way, FirstOf in the first of several that works:
//
//   - Local is the machine this program runs on;
//   - Exec runs commands in a privileged pod that is there already;
//   - Command runs a program of the user's own that leads to a shell there;
//   - SSH checks the host's key, always;
//   - Debug starts a pod of its own, and removes it.
//
// This is the order of Ways, the table of them. Command and SSH need neither the API nor the kubelet.
//
// Every Node keeps the same promises, and package nodetest is the test of them:
//
//   - arguments arrive byte for byte;
//   - a command whose end was not seen has an unknown outcome, and never succeeded;
//   - a cancelled command does not run on;
//   - what arrives is bounded;
//   - what this package opened on the node is gone after Close.
//
// It writes nothing on nodes. The one file it writes here is known_hosts, and there it only adds lines, after a user
// said yes.
//
// # What runs on a node
//
// Arguments are passed as arguments: no text is ever pasted into a script. Where
// a shell has to be in between (SSH passes the remote side one string), Quote
// makes that string. The scripts sent are fixed, short, and in this folder:
// start.sh, kill.sh, relay.sh, relay.bash, shell.sh and command.sh.
package nodeexec
