package collect

import (
	"bytes"
	"encoding/json"
	"time"
)

// maxStatusList bounds each list of a status: a few times the nodes of the largest clusters, and
// little enough for memory.
const maxStatusList = 200_000

// bounded is a list of a snapshot's that may have so many elements.
type bounded[T any] []T

// UnmarshalJSON refuses what is longer.
func (b *bounded[T]) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		return nil
	}
	items, err := readJSONItems[T](json.NewDecoder(bytes.NewReader(raw)), maxStatusList)
	*b = items
	return err
}

// The part of the snapshot file that is about what is asked before something is changed.
type (
	fileStatus struct {
		Read         time.Time         `json:"read,omitzero"`
		ControlPlane *fileControlPlane `json:"controlPlane,omitempty"`
		StaticPods   *filePodList      `json:"staticPods,omitempty"` // of kube-system
		Signers      *fileSigners      `json:"signers,omitempty"`
		Network      *fileNetwork      `json:"network,omitempty"`
		Published    time.Time         `json:"published,omitzero"`
	}
	fileControlPlane struct {
		Update     fileUpdate              `json:"update,omitzero"`
		Operators  bounded[fileOperator]   `json:"operators,omitempty"`
		StaticPods bounded[fileStaticPods] `json:"staticPods,omitempty"` // by their operators
		Installers bounded[fileInstaller]  `json:"installers,omitempty"`
		Pools      bounded[filePool]       `json:"pools,omitempty"`
		Actors     bounded[fileActor]      `json:"actors,omitempty"`
		Workloads  bounded[fileWorkload]   `json:"workloads,omitempty"`
		Nodes      bounded[fileNodeState]  `json:"nodes,omitempty"`
		Silent     []string                `json:"silent,omitempty"`
		Gaps       bounded[fileGap]        `json:"gaps,omitempty"`
	}
	fileUpdate struct {
		Progressing string `json:"progressing,omitempty"`
		Message     string `json:"message,omitempty"`
		Desired     string `json:"desired,omitempty"`
		Failing     string `json:"failing,omitempty"`
	}
	fileOperator struct {
		Name        string `json:"name"`
		Available   string `json:"available,omitempty"`
		Progressing string `json:"progressing,omitempty"`
		Degraded    string `json:"degraded,omitempty"`
		Message     string `json:"message,omitempty"`
	}
	fileStaticPods struct {
		Resource   string                      `json:"resource"`
		Latest     int                         `json:"latest"`
		Masters    bounded[fileStaticPodState] `json:"masters,omitempty"`
		Conditions map[string]string           `json:"conditions,omitempty"`
		Messages   map[string]string           `json:"messages,omitempty"`
	}
	fileStaticPodState struct {
		Node    string `json:"node"`
		Current int    `json:"current"`
		Target  int    `json:"target,omitempty"`
	}
	fileInstaller struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		Node      string `json:"node,omitempty"`
		Phase     string `json:"phase,omitempty"`
	}
	filePool struct {
		Name     string `json:"name"`
		Paused   bool   `json:"paused,omitempty"`
		Updating string `json:"updating,omitempty"`
		Degraded string `json:"degraded,omitempty"`
		Current  string `json:"current,omitempty"`
		Desired  string `json:"wanted,omitempty"`
		Machines int    `json:"machines,omitempty"`
		Updated  int    `json:"updated,omitempty"`
	}
	fileActor struct {
		Resource  string   `json:"resource"`
		Namespace string   `json:"namespace,omitempty"`
		Name      string   `json:"name"`
		Acts      string   `json:"acts,omitempty"` // "yes", "no"
		Why       string   `json:"why,omitempty"`
		Paused    []string `json:"paused"` // null: it is not
	}
	fileWorkload struct {
		Kind      string `json:"kind"`
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		Node      string `json:"node,omitempty"`
		Desired   int    `json:"wanted"`
		Ready     int    `json:"ready"`
	}
	fileNodeState struct {
		Name      string        `json:"name"`
		Ready     string        `json:"ready,omitempty"`
		Master    bool          `json:"master,omitempty"`
		Heartbeat time.Time     `json:"heartbeat,omitzero"`
		Lease     fileLease     `json:"lease,omitzero"`
		Config    filePoolState `json:"config,omitzero"`
	}
	filePoolState struct {
		Current string `json:"current,omitempty"`
		Desired string `json:"desired,omitempty"`
		State   string `json:"state,omitempty"`
	}
	filePodList struct {
		Pods bounded[filePod] `json:"pods,omitempty"`
		Gap  *fileGap         `json:"gap,omitempty"`
	}
	filePod struct {
		Namespace string    `json:"namespace"`
		Name      string    `json:"name"`
		UID       string    `json:"uid,omitempty"`
		Node      string    `json:"node,omitempty"`
		OwnerKind string    `json:"ownerKind,omitempty"`
		OwnerName string    `json:"ownerName,omitempty"`
		Accepted  time.Time `json:"accepted,omitzero"`
		Started   time.Time `json:"started,omitzero"`
		Phase     string    `json:"phase,omitempty"`
		Ready     bool      `json:"ready,omitempty"`
		Restarts  int       `json:"restarts,omitempty"`
		Deleting  bool      `json:"deleting,omitempty"`
	}
	fileSigners struct {
		Signer fileSigner `json:"signer"`
		Source fileSigner `json:"source"`
	}
	fileSigner struct {
		NotBefore time.Time `json:"notBefore,omitzero"`
		NotAfter  time.Time `json:"notAfter,omitzero"`
		Asked     time.Time `json:"asked,omitzero"` // by the API server's Date
		Unread    string    `json:"unread,omitempty"`
	}
	fileNetwork struct {
		Pods    filePodList `json:"pods"`
		Rollout fileRollout `json:"rollout"`
		Unread  string      `json:"unread,omitempty"` // of the rollout
	}
	fileRollout struct {
		Operator  bool                  `json:"operator,omitempty"`
		Source    []int                 `json:"source"` // indices of certificates, as all that follow
		Latest    int                   `json:"latest,omitempty"`
		Masters   bounded[fileRevision] `json:"masters,omitempty"`
		RootCAs   bounded[fileRootCA]   `json:"rootCAs,omitempty"`
		Scheduler *fileRevisions        `json:"scheduler,omitempty"`
	}
	fileRevisions struct {
		Source  []int                 `json:"source"`
		Latest  int                   `json:"latest,omitempty"`
		Masters bounded[fileRevision] `json:"masters,omitempty"`
	}
	fileRevision struct {
		Node      string `json:"node"`
		Current   int    `json:"current"`
		Target    int    `json:"target,omitempty"`
		Failed    string `json:"failed,omitempty"`
		CA        []int  `json:"ca"` // null: unknown
		Ready     string `json:"ready,omitempty"`
		Silent    string `json:"silent,omitempty"`
		Installer string `json:"installer,omitempty"`
	}
	fileRootCA struct {
		Namespace string    `json:"namespace"`
		CA        []int     `json:"ca"` // null: there is none
		Created   time.Time `json:"created,omitzero"`
		Written   time.Time `json:"written,omitzero"`
	}
)
