package collect

import (
	"encoding/json"
	"path"
	"strings"
	"time"
)

// date finds out when an image gathered: its timestamp file says it, or that of
// the must-gather around it. Without one, nothing in it can be newer than it is:
// the newest time that an object speaks of is near, and the files' own times are
// those of the last copy.
func (g *gathering) date(im *image) {
	for dir := path.Join(im.dir, "."); ; dir = path.Dir(dir) {
		if at, ok := g.times[dir]; ok {
			im.taken, im.by = at, "by its timestamp file"
			return
		}
		if dir == "." || dir == "/" || dir == "" {
			break
		}
	}
	switch {
	case !im.newest.IsZero():
		im.taken, im.by = im.newest, "the newest time in its objects, as there is no timestamp file: it is from then or later"
	case !im.modified.IsZero():
		im.taken, im.by = im.modified, "the newest time of its files, as there is no timestamp file"
	}
}

// lastTime returns the newest time in a timestamp file: lines as Go prints a time,
// "2021-08-03 10:12:00.016988581 +0000 UTC m=+0.380233555"; zero if there is none.
func lastTime(text string) time.Time {
	var last time.Time
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		at, err := time.Parse("2006-01-02 15:04:05 -0700", strings.Join(fields[:3], " "))
		if err == nil && plausible(at) && at.After(last) {
			last = at.UTC().Truncate(time.Second)
		}
	}
	return last
}

// plausible reports whether OpenShift 4 was there at a time, or will be.
func plausible(at time.Time) bool { return at.Year() >= 2018 && at.Year() < 2100 }

// statusTime returns the newest time that an object speaks of.
func statusTime(h *header, raw []byte) time.Time {
	newest := h.Metadata.CreationTimestamp.Time
	consider := func(at time.Time) {
		if at.After(newest) && plausible(at) {
			newest = at
		}
	}
	for _, m := range h.Metadata.ManagedFields {
		if m.Time != nil {
			consider(m.Time.Time)
		}
	}
	if h.Kind == "ClusterOperator" {
		var o struct {
			Status struct {
				Conditions []struct {
					LastTransitionTime time.Time `json:"lastTransitionTime"`
				} `json:"conditions"`
			} `json:"status"`
		}
		if json.Unmarshal(raw, &o) == nil { // if not, that is said where it is read
			for _, c := range o.Status.Conditions {
				consider(c.LastTransitionTime)
			}
		}
	}
	if !plausible(newest) {
		return time.Time{}
	}
	return newest.UTC().Truncate(time.Second)
}
