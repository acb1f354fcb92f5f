package collect

import (
	"archive/tar"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// What `oc adm must-gather` and `oc adm inspect` leave behind is a tree of files,
// described in docs/must-gather.md: objects by namespace, group and resource,
// once for each image that gathered, among logs of many times their size.

const (
	gatheredNamespaces = "namespaces"
	gatheredCluster    = "cluster-scoped-resources"
	// expected ends the error for what is no must-gather.
	expected = "expected what oc adm must-gather or oc adm inspect wrote: " + gatheredCluster + "/<group>/<resource>/<name>.yaml and " + gatheredNamespaces + "/<namespace>/<group>/<resource>.yaml"
	// maxName bounds the name of a file: longer than any system has it.
	maxName = 4096
	// maxGathered bounds a file of objects: a list of what is in one namespace.
	maxGathered = 128 << 20
)

// mustGatherDirectory reads a directory. Links in it are not followed.
func (f File) mustGatherDirectory(b bounds) (inspect.Snapshot, error) {
	root, err := os.OpenRoot(f.Path)
	if err != nil {
		return inspect.Snapshot{}, err
	}
	defer func() { _ = root.Close() }() // read only
	g := newGathering(f, b)
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			g.gap(name, reason("read", err), "")
			return nil
		case d.IsDir() && strings.Count(name, "/") >= b.depth:
			g.gap(name, fmt.Sprintf("directories deeper than %d: not looked into", b.depth), "")
			return fs.SkipDir
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			g.passOdd(name)
			return nil
		}
		return g.found(name, root)
	})
	if err != nil {
		g.gap("", reason("not all was read", err), "")
	}
	return g.finish("directory")
}

// found reads one file of a directory; one that can't be read is a gap.
func (g *gathering) found(name string, root *os.Root) error {
	if !g.wants(name) {
		return g.pass(name)
	}
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		g.gap(name, reason("read", err), "")
		return g.pass("")
	}
	defer func() { _ = file.Close() }() // read only
	info, err := file.Stat()
	if err == nil {
		g.from.Reader = file
		err = g.read(name, info.Size(), info.ModTime(), g.from)
	}
	if err != nil {
		g.gap(name, reason("read", err), "")
	}
	return g.pass("")
}

// mustGatherTar reads a tar, unpacked already: from is the file that it was packed
// in; nil: none. What was read before it breaks off stays.
func (f File) mustGatherTar(r io.Reader, from *packed, b bounds) (inspect.Snapshot, error) {
	g := newGathering(f, b)
	if from == nil {
		g.from.Reader = r
		r = g.from
	} else {
		g.from = from
	}
	err := readTar(r, g.charge, func(h *tar.Header, r io.Reader) error {
		if len(h.Name) > maxName || !g.wants(label(h.Name)) {
			return g.pass(h.Name)
		}
		if err := g.read(label(h.Name), h.Size, h.ModTime, r); err != nil {
			return err
		}
		return g.pass("")
	}, func(name string) { g.passOdd(label(name)) })
	if err != nil {
		g.gap("", fmt.Sprintf("not all was read: the archive breaks off after %s: %v", numbered(g.files, "file"), err), "get the archive again, and compare its size with the original's; if it is whole, unpack it and name the directory")
	}
	return g.finish("tar archive")
}

// label makes a name from an archive one below a directory, whatever it is.
func label(name string) string { return path.Clean("/" + name)[1:] }

// gathering is one reading of a must-gather.
type gathering struct {
	bounds
	scanner    *pki.Scanner
	observe    func(what string, objects int)
	where      string
	images     map[string]*image // by the directory that has the two above
	times      map[string]time.Time
	gaps       []inspect.Gap
	more       int     // gaps that are not among them
	unread     int     // files that may hold objects, beyond the bound
	bytes      int64   // of files read
	from       *packed // what all of it comes from, and what was unpacked of that
	exposed    []exposedIn
	serverLogs []serverLogRead
	logs       logsRead

	files, other, kinds, archives, odd int // files in all; no objects; objects of kinds not read; archives; no files
}

// image is what one image gathered, or one oc adm inspect.
type image struct {
	dir      string
	objects  map[string]*gathered // by Kind/namespace/name
	lists    map[listOf]bool      // that were read to their end
	id       string               // spec.clusterID of the ClusterVersion, where it has one
	newest   time.Time            // that an object speaks of
	modified time.Time            // of the file that was written last
	taken    time.Time            // of these, what is known best
	by       string               // how
}

func newGathering(f File, b bounds) *gathering {
	g := &gathering{bounds: b, scanner: f.Scanner, observe: f.Observe, where: f.Path, from: &packed{bounds: b}, images: map[string]*image{}, times: map[string]time.Time{}}
	if g.observe == nil {
		g.observe = func(string, int) {}
	}
	return g
}

// gap notes what could not be read, up to a number.
func (g *gathering) gap(name, why, next string) {
	if len(g.gaps) >= g.bounds.gaps {
		g.more++
		return
	}
	where := g.where
	if name != "" {
		where += ": " + foreign.Name(name)
	}
	g.gaps = append(g.gaps, inspect.Gap{What: "must-gather", Where: where, Reason: why, Next: next})
}

// pass counts a file, and by its name what it was where that was not read.
func (g *gathering) pass(name string) error {
	g.files++
	g.observe("files", g.files)
	switch at, ok := placeOf(label(name)); {
	case name == "":
	case isArchive(name):
		g.archives++
	case ok:
		g.kinds++
		if at.cluster {
			g.image(at.image)
		}
	default:
		g.other++
	}
	if g.files >= g.bounds.files {
		return fmt.Errorf("more than %d files", g.bounds.files)
	}
	return g.scanner.Over()
}

// passOdd counts what is no file. One where a file would be read is a gap.
func (g *gathering) passOdd(name string) {
	g.odd++
	if len(name) <= maxName && g.wants(name) {
		g.gap(name, "is a link, or no file: not followed", "copy the must-gather with the files in place of links: cp -rL, or tar -h")
	}
}

func (g *gathering) image(dir string) *image {
	if g.images[dir] == nil {
		g.images[dir] = &image{dir: dir, objects: map[string]*gathered{}, lists: map[listOf]bool{}}
	}
	return g.images[dir]
}

// wants reports whether a file is one that is read, by its name alone.
func (g *gathering) wants(name string) bool {
	if path.Base(name) == "timestamp" || isDaemonLog(name) {
		return true
	}
	if _, ok := serverLogIn(name); ok {
		return true
	}
	at, ok := placeOf(name)
	return ok && at.known()
}

// read reads a file that is wanted, of so many bytes. Only what breaks off the reading of the file
// is an error.
func (g *gathering) read(name string, size int64, modified time.Time, r io.Reader) error {
	if path.Base(name) == "timestamp" {
		text, err := io.ReadAll(io.LimitReader(r, 64<<10))
		if at := lastTime(string(text)); !at.IsZero() {
			g.times[path.Dir(name)] = at
		}
		return err
	}
	if isDaemonLog(name) {
		return g.readLog(name, r, "tokens", g.search)
	}
	if row, ok := serverLogIn(name); ok {
		return g.readLog(name, r, "refused handshakes", func(name string, r io.Reader) error { return g.listen(row, name, r) })
	}
	at, _ := placeOf(name)
	im := g.image(at.image)
	if g.bytes >= g.bounds.objects {
		g.unread++
		return nil
	}
	if size > maxGathered {
		g.gap(name, fmt.Sprintf("is %d MiB, more than the %d MiB that are read of one file: not read", size>>20, maxGathered>>20), "inspect the cluster itself, or have a snapshot made of it")
		return nil
	}
	data, err := readSized(r, size)
	g.bytes += int64(len(data))
	if err != nil {
		return err
	}
	if plausible(modified) && modified.After(im.modified) {
		im.modified = modified
	}
	if err := im.readObjects(g.scanner, data, at); err != nil {
		next := "look at that file; if it is truncated, get the must-gather again"
		if cut := (*cutOffError)(nil); errors.As(err, &cut) {
			next = "get the must-gather again: there was no room for all of it when it was written or copied"
		}
		g.gap(name, err.Error(), next)
	} else if at.list != "" {
		im.lists[listOf{kindOf(strings.TrimPrefix(at.resource, "core/")), at.list}] = true
	}
	return nil
}

// finish puts together what was read. what says what kind of thing it was.
func (g *gathering) finish(what string) (inspect.Snapshot, error) {
	if len(g.images) == 0 {
		return inspect.Snapshot{}, g.none(what)
	}
	images := make([]*image, 0, len(g.images))
	for _, im := range g.images {
		g.date(im)
		images = append(images, im)
	}
	slices.SortFunc(images, func(a, b *image) int { // newest first
		return cmp.Or(b.taken.Compare(a.taken), cmp.Compare(a.dir, b.dir))
	})
	images = g.oneCluster(images)
	p := putTogether(images)
	s := p.Snapshot
	s.Taken = images[0].taken
	if s.Taken.IsZero() {
		s.Taken = Now()
	}
	for _, e := range g.exposed {
		s.Exposed = append(s.Exposed, e.Exposed)
	}
	for _, l := range g.serverLogs {
		s.ServerLogs = append(s.ServerLogs, l.ServerLog)
	}
	s.Reads = g.reads(images, p)
	if g.unread > 0 {
		g.gap("", fmt.Sprintf("%s not read: those before have %d GiB of objects", numbered(g.unread, "file"), g.bounds.objects>>30), "read a part of it: name one of its directories")
	}
	if g.logs.unread > 0 {
		g.gap("", fmt.Sprintf("%s not searched: those before have all that is read of logs, %s, or unpacked to too much", numbered(g.logs.unread, "log"), sized(g.bounds.logs)), "read a part of it: name one of its directories")
	}
	for i := range s.Gaps {
		s.Gaps[i].Where = g.where + ": " + s.Gaps[i].Where
	}
	s.Gaps = append(g.gaps, s.Gaps...)
	if g.more > 0 {
		s.Gaps = append(s.Gaps, inspect.Gap{What: "must-gather", Where: g.where, Reason: fmt.Sprintf("%d more like these could not be read", g.more)})
	}
	for _, kind := range slices.Sorted(maps.Keys(p.hidden)) {
		s.Gaps = append(s.Gaps, p.hidden[kind].gap(g.where))
	}
	return s, nil
}

// none is the error for what is no must-gather.
func (g *gathering) none(what string) error {
	err := fmt.Errorf("read %s: is a %s that holds no must-gather among its %s; %s", g.where, what, numbered(g.files, "file"), expected)
	switch {
	case g.archives > 0:
		err = fmt.Errorf("%w; archives in it (%d) are not opened: unpack them, or name one", err, g.archives)
	case what == "directory":
		err = fmt.Errorf("%w; other files have to be named one by one", err)
	}
	for _, gap := range g.gaps[:min(len(g.gaps), 1)] {
		err = errors.Join(err, fmt.Errorf("%s: %s", gap.Where, gap.Reason))
	}
	return err
}

// oneCluster leaves out what was gathered from other clusters than the newest:
// what two clusters hold together is true of neither. An image that gathered no
// ClusterVersion belongs with the one beside it.
func (g *gathering) oneCluster(images []*image) []*image {
	beside := map[string]string{} // by directory, the cluster
	for _, im := range images {
		if im.id != "" {
			beside[path.Dir(im.dir)] = im.id
		}
	}
	newest, others := "", map[string]bool{}
	var kept []*image
	for _, im := range images {
		id := cmp.Or(im.id, beside[path.Dir(im.dir)])
		newest = cmp.Or(newest, id)
		if id != "" && id != newest {
			others[id] = true
			g.exposed = slices.DeleteFunc(g.exposed, func(e exposedIn) bool { return strings.HasPrefix(e.name, im.dir+"/") })
			g.serverLogs = slices.DeleteFunc(g.serverLogs, func(l serverLogRead) bool { return strings.HasPrefix(l.name, im.dir+"/") })
			g.gap(im.dir, fmt.Sprintf("is of cluster %s, and newer is what is of cluster %s: only that was read", foreign.Name(id), foreign.Name(newest)), "read one cluster at a time: name its directory")
			continue
		}
		kept = append(kept, im)
	}
	return kept
}

// reads says what was read, and what a must-gather does not hold.
func (g *gathering) reads(images []*image, p together) []inspect.Read {
	took := "of an unknown time, so judged as of now"
	if first := images[0]; !first.taken.IsZero() {
		took = "of " + first.taken.UTC().Format("2006-01-02 15:04 MST") + ", " + first.by
	}
	notes := []string{took}
	if len(images) > 1 {
		notes = append(notes, fmt.Sprintf("%d image directories", len(images)))
	}
	if p.older > 0 {
		notes = append(notes, fmt.Sprintf("%s found more than once and not the same: the newest copy was taken, by the must-gather's time and then by resourceVersion", numbered(p.older, "object")))
	}
	reads := []inspect.Read{{What: "must-gather objects", Where: g.where, Objects: p.objects, Note: strings.Join(notes, "; ")}}
	if g.logs.searched > 0 {
		reads = append(reads, inspect.Read{What: "logs of machine-config-daemons", Where: g.where, Objects: g.logs.searched, Note: "searched for tokens and keys; nothing else of them is kept"})
	}
	if len(g.serverLogs) > 0 {
		reads = append(reads, inspect.Read{What: "logs of TLS servers", Where: g.where, Objects: len(g.serverLogs), Note: "searched for clients that refuse the server's certificate; nothing else of them is kept"})
	}
	left := []string{numbered(g.other, "log or other file", "logs and other files"), numbered(g.kinds, "file") + " of kinds that certrot does not read"}
	if g.archives > 0 {
		left = append(left, numbered(g.archives, "archive")+" in it, not opened")
	}
	if g.odd > 0 {
		left = append(left, numbered(g.odd, "link or device", "links and devices")+", not followed")
	}
	reads = append(reads, inspect.Read{What: "files", Where: g.where, Skipped: true, Note: strings.Join(left, "; ")})
	note := fmt.Sprintf("a must-gather holds those of some namespaces (here %d), and of their values only certificates", p.secretsIn)
	if p.secretsIn == 0 {
		note = "there are none in it: a must-gather holds those of some namespaces, at most"
	}
	return append(reads,
		inspect.Read{What: "other secrets", Skipped: true, Note: note},
		inspect.Read{What: "nodes", Skipped: true, Note: "a must-gather holds none of their files: what kubelets and static pods use is not in it"})
}
