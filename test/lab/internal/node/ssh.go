package node

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// userKey is the file of the key that opens core's account on every node. Other
// files in the folder are named after the node whose host key they hold.
const userKey = "id_ed25519"

// MakeKeys makes the lab's SSH keys in folder, and a configuration for ssh with
// which its name is all that a node needs to be called by.
func MakeKeys(ctx context.Context, folder string, nodes []Node) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("make the folder for SSH keys: %w", err)
	}
	keys := []string{userKey}
	for _, n := range nodes {
		keys = append(keys, n.Name)
	}
	for _, name := range keys {
		out, err := exec.CommandContext(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", filepath.Join(folder, name)).CombinedOutput()
		if err != nil {
			return fmt.Errorf("make an SSH key with ssh-keygen: %w: %s", err, out)
		}
	}
	var known, names []string
	for _, n := range nodes {
		key, err := os.ReadFile(filepath.Join(folder, n.Name+".pub"))
		if err != nil {
			return fmt.Errorf("read an SSH key: %w", err)
		}
		known = append(known, n.Name+","+n.Address+" "+string(key))
		names = append(names, n.Name, n.Address)
	}
	knownHosts := filepath.Join(folder, "known_hosts")
	config := fmt.Sprintf(`# The nodes of the lab, for ssh inside it.
Host %s
  User core
  IdentityFile "%s"
  IdentitiesOnly yes
  GlobalKnownHostsFile "%s"
  UserKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  UpdateHostKeys no
  BatchMode yes
  ConnectTimeout 10
  LogLevel ERROR
`, strings.Join(names, " "), filepath.Join(folder, userKey), knownHosts)
	for path, text := range map[string]string{knownHosts: strings.Join(known, ""), SSHConfig(folder): config} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("write ssh's configuration: %w", err)
		}
	}
	return nil
}

// SSHConfig is the configuration that MakeKeys writes.
func SSHConfig(folder string) string { return filepath.Join(folder, "config") }
