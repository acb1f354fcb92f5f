package labdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// State is what `up` writes down about the lab it started.
type State struct {
	Supervisor   Process `json:"supervisor"`
	Port         int     `json:"port"`         // on 127.0.0.1
	Version      string  `json:"version"`      // the OpenShift version that the lab claims
	Components   string  `json:"components"`   // folder of the built components
	GoawayChance string  `json:"goawayChance"` // the API server's --goaway-chance; empty: none
	Nodes        string  `json:"nodes"`        // their names, with spaces between
	NoNodes      string  `json:"noNodes"`      // why there are none although some were wanted
	Multus       string  `json:"multus"`       // thick or thin; empty: none
	Ready        bool    `json:"ready"`        // up finished its work
}

// Status is what the supervisor says about itself.
type Status struct {
	Ready  bool   `json:"ready"`
	Failed string `json:"failed,omitempty"` // the component that failed
	Error  string `json:"error,omitempty"`
}

// State reads what `up` wrote; found is false when there is none.
func (d Dir) State() (s State, found bool, err error) {
	found, err = readJSON(d.stateFile(), &s)
	return s, found, err
}

// Status reads what the supervisor wrote; found is false when there is none yet.
func (d Dir) Status() (s Status, found bool, err error) {
	found, err = readJSON(d.statusFile(), &s)
	return s, found, err
}

// WriteState is for `up`.
func (d Dir) WriteState(s State) error { return writeJSON(d.stateFile(), s) }

// WriteStatus is for the supervisor.
func (d Dir) WriteStatus(s Status) error { return writeJSON(d.statusFile(), s) }

// Synced reads which versions of Secrets and ConfigMaps have been brought to the
// lab's components and masters, by their paths in the API.
func (d Dir) Synced() (versions map[string]string, err error) {
	_, err = readJSON(d.path("inner", "synced.json"), &versions)
	return versions, err
}

// WriteSynced is for the certificate syncer.
func (d Dir) WriteSynced(versions map[string]string) error {
	return writeJSON(d.path("inner", "synced.json"), versions)
}

func readJSON(path string, into any) (bool, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the lab's state: %w", err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		return false, fmt.Errorf("read the lab's state %s: %w", path, err)
	}
	return true, nil
}

// writeJSON replaces the file in one step: others read it at any moment.
func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write the lab's state: %w", err)
	}
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	if err := os.WriteFile(tmp, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the lab's state: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("write the lab's state: %w", err)
	}
	return nil
}
