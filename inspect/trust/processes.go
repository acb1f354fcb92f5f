package trust

import (
	"slices"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/assess"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// memory judges what processes loaded that read their trust anchors only when
// they start: files is what was said of their files. A CA that was made after a process
// started can't be in its memory, whatever its file says by now.
func (j *judge) memory(row catalog.StartupReader, files []Claim) []Claim {
	var out []Claim
	for _, file := range files {
		// Where the file is wrong already, or will be, that is said of the file.
		if file.Edge.ID != row.EdgeID || file.Status != assess.Pass && !file.NextUnknown || len(file.Chain) == 0 || len(file.Trust) == 0 {
			continue
		}
		n, ok := j.f.Node(file.Node)
		if !ok {
			continue
		}
		started, loaded, runs := n.Running(row.Command)
		cut := j.processesCut[n.Name] && row.Command != "kubelet"
		if runs == catalog.No && !cut {
			continue
		}
		c := file
		c.Edge, c.Status, c.Reason, c.Missing, c.From, c.ProcessStarted = row.Edge, assess.Pass, "", nil, time.Time{}, started
		c.Edge.Presented, c.Edge.Selector, c.NextUnknown = file.Edge.Presented, file.Edge.Selector, false
		ca := j.issuer(&file)
		written := written(n, file.Trust[0])
		// CAs are dated by the cluster's clock, processes by the node's.
		since := started.Add(j.f.Now.Sub(n.Time(j.f.Now)))
		switch {
		case ca == nil:
			c.Status, c.Reason = assess.Unknown, "the CA of the certificate presented was not seen: whether it is older than the process is unknown"
		case ca.NotBefore.After(since):
			c.Status, c.Missing = assess.Fail, ca
			c.Reason = "it started before the CA was made, and loads its trust anchors only at startup"
		case !written.IsZero() && written.After(loaded) && !n.File(file.Trust[0].Path).Modified.After(loaded):
			c.Status = assess.Unknown
			c.Reason = "whether the file was written after it started is unknown: its mode, owner, label or content changed later"
		case written.IsZero() || written.After(loaded):
			c.Status = assess.Unknown
			c.Reason = "it started before the file was last written: what the file contained then is unknown"
		default:
			j.nextInMemory(&c, &file, since)
		}
		if runs == catalog.Unknown && (c.Status == assess.Fail || c.Status == assess.Warn) {
			c.Status, c.Missing, c.From, c.NextUnknown = assess.Unknown, nil, time.Time{}, false
			c.Reason = "a process " + row.Command + " started before the CA was made: whether in the platform's pod was not read"
			c.Edge.Remediation = j.f.Hints().UnreadNodes("read the node again")
		}
		if cut && (runs == catalog.No || c.Status == assess.Pass) {
			c.Status, c.Missing, c.From, c.NextUnknown = assess.Unknown, nil, time.Time{}, false
			c.Reason = "not each process of the node was looked at: an older " + row.Command + " may run"
			c.Edge.Remediation = j.f.Hints().UnreadNodes("read the node again")
		}
		out = append(out, c)
	}
	return out
}

// nextInMemory looks at who signs next, where memory has the CA of what is presented now: a
// CA that was made after the process started is not in it.
func (j *judge) nextInMemory(c, file *Claim, since time.Time) {
	if file.NextUnknown {
		c.Status, c.NextUnknown, c.Reason = assess.Unknown, true, file.Reason
		return
	}
	next := j.nextOf(file)
	i := slices.IndexFunc(next.cas, func(ca *pki.Cert) bool { return ca.NotBefore.After(since) })
	if i < 0 {
		return
	}
	j.missingNextCA(c, next, next.cas[i])
	c.Reason += "; that CA was made after the process started"
}

// written is when the file at a place may have been last written; the zero time where
// that was not read.
func written(n *inspect.Node, at pki.Location) time.Time {
	f := n.File(at.Path)
	if f == nil {
		return time.Time{}
	}
	return f.Written()
}
