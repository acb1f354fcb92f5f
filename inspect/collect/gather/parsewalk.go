package gather

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

func (p *parser) walk(f []string) error {
	switch {
	case len(f) == 2 && f[0] == "stopped" && f[1] == "files":
		p.result.Stopped = true
		p.gap("", "stopped after the largest number of files to look at", nextRoom)
	case len(f) == 2 && f[0] == "stopped" && f[1] == "time":
		p.result.Stopped = true
		p.gap("", "stopped because it took too long", nextRoom)
	case len(f) == 2 && f[0] == "deep":
		p.gap(f[1], "directory not entered: too deep", "name it as a path of its own")
	case len(f) == 2 && f[0] == "crowded":
		p.gap(f[1], "more than 1,000 files in this directory: the rest was not looked at", "name what matters in it as a path of its own")
	case len(f) == 2 && f[0] == "partial":
		p.partial = append(p.partial, f[1])
	case len(f) == 3 && f[0] == "done":
		p.ended = true
	default:
		return fmt.Errorf("walk: %.80q is unknown", f)
	}
	return nil
}

func (p *parser) finish(sc *pki.Scanner) (Result, error) {
	if !p.ended || p.result.Node.Clock.After.IsZero() {
		return Result{}, fmt.Errorf("%w: the walk did not end", errIncomplete)
	}
	contents := map[pki.Fingerprint]*Content{}
	for i := range p.result.Files {
		f := &p.result.Files[i]
		if f.Kind != KindRead {
			continue
		}
		d := p.drafts[f.SHA256]
		if d == nil && p.cut {
			d = &draft{notes: []Note{{"omitted", "no room left in the output"}}}
			p.drafts[f.SHA256] = d
		}
		if d == nil {
			return Result{}, fmt.Errorf("file %q was read, and its content is not there", f.Path)
		}
		if contents[f.SHA256] == nil {
			c, err := d.finish(sc)
			if err != nil {
				return Result{}, fmt.Errorf("file %q: %w", f.Path, err)
			}
			contents[f.SHA256] = c
		}
		f.Content = contents[f.SHA256]
	}
	slices.SortFunc(p.result.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	p.unlisted()
	p.result.bound()
	p.result.gaps()
	return p.result, nil
}

// unlisted says which directories were not listed completely, unless one that
// can't be listed at all explains it. Files are sorted by now.
func (p *parser) unlisted() {
	var closed []string
	for _, f := range p.result.Files {
		if f.Kind == KindClosed {
			closed = append(closed, f.Path)
		}
	}
	for _, dir := range p.partial {
		_, itself := slices.BinarySearch(closed, dir)
		below, _ := slices.BinarySearch(closed, dir+"/")
		if !itself && (below == len(closed) || !strings.HasPrefix(closed[below], dir+"/")) {
			p.gap(dir, "not listed completely: it took too long, changed meanwhile, or can't be read", "run certrot again")
		}
	}
}
