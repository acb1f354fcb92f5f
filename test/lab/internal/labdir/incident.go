package labdir

import (
	"fmt"
	"os"
	"time"
)

// Incident is how far the api-int incident has gone in a lab.
type Incident struct {
	Began   time.Time `json:"began"`
	Stage   string    `json:"stage"`   // the last one that is complete; empty: none yet
	Nodes   []string  `json:"nodes"`   // whose kubelets were made to connect again
	Healing bool      `json:"healing"` // it is being undone
}

// IncidentFiles is a folder of what the incident needs: "original" holds what was
// there before, "rotated" what comes in its place. IncidentFiles("") holds both.
func (d Dir) IncidentFiles(name string) string { return d.path("incident", name) }

func (d Dir) incidentFile() string { return d.path("incident", "state.json") }

// Incident reads how far it has gone; found is false when there is none.
func (d Dir) Incident() (i Incident, found bool, err error) {
	found, err = readJSON(d.incidentFile(), &i)
	return i, found, err
}

// WriteIncident is for who brings the incident about, or undoes it.
func (d Dir) WriteIncident(i Incident) error { return writeJSON(d.incidentFile(), i) }

// BeginIncident makes IncidentFiles, filled by fill: with all that is needed to
// undo the incident, or not at all.
func (d Dir) BeginIncident(i Incident, fill func(original, rotated string) error) error {
	unfinished := d.path("incident.new")
	for _, left := range []string{unfinished, d.IncidentFiles("")} {
		if err := os.RemoveAll(left); err != nil {
			return fmt.Errorf("prepare the incident: %w", err)
		}
	}
	original, rotated := d.path("incident.new", "original"), d.path("incident.new", "rotated")
	for _, folder := range []string{original, rotated} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return fmt.Errorf("prepare the incident: %w", err)
		}
	}
	if err := fill(original, rotated); err != nil {
		return err
	}
	if err := writeJSON(d.path("incident.new", "state.json"), i); err != nil {
		return err
	}
	if err := os.Rename(unfinished, d.IncidentFiles("")); err != nil {
		return fmt.Errorf("prepare the incident: %w", err)
	}
	return nil
}

// EndIncident forgets the incident: it is undone.
func (d Dir) EndIncident() error {
	// First what says that there is one, so that a half-deleted folder is none.
	for _, path := range []string{d.incidentFile(), d.IncidentFiles("")} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove what the incident needed: %w", err)
		}
	}
	return nil
}
