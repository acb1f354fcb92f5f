package collect

import (
	"fmt"
	"reflect"

	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/catalog"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/pki"
)

// status packs what is asked before something is changed. Sentences are marked as they will be
// when they are read, so that a snapshot of a snapshot is the same file.
func (p *packer) status(s *inspect.ClusterStatus) *fileStatus {
	if s == nil {
		return nil
	}
	f := &fileStatus{Read: s.Read, ControlPlane: packControlPlane(s.ControlPlane), Published: s.Published}
	if s.StaticPods != nil {
		list := packPods(*s.StaticPods)
		f.StaticPods = &list
	}
	if s.Signers != nil {
		f.Signers = &fileSigners{fileSigner(s.Signers.Signer), fileSigner(s.Signers.Source)}
	}
	if n := s.Network; n != nil {
		f.Network = &fileNetwork{packPods(n.PodList), p.rollout(n.Rollout), n.Unread}
	}
	markSentences(reflect.ValueOf(f))
	return f
}

func packControlPlane(m *inspect.ControlPlaneStatus) *fileControlPlane {
	if m == nil {
		return nil
	}
	f := &fileControlPlane{Update: fileUpdate(m.Update), Silent: m.UnavailableAPIs}
	for _, o := range m.Operators {
		f.Operators = append(f.Operators, fileOperator(o))
	}
	for _, s := range m.StaticPods {
		fs := fileStaticPods{Resource: s.Resource, Latest: s.Latest, Conditions: s.Conditions, Messages: s.Messages}
		for _, at := range s.Masters {
			fs.Masters = append(fs.Masters, fileStaticPodState(at))
		}
		f.StaticPods = append(f.StaticPods, fs)
	}
	for _, i := range m.Installers {
		f.Installers = append(f.Installers, fileInstaller(i))
	}
	for _, pool := range m.Pools {
		f.Pools = append(f.Pools, filePool(pool))
	}
	for _, a := range m.Actors {
		fa := fileActor{Resource: a.Resource, Namespace: a.Namespace, Name: a.Name, Why: a.Why, Paused: a.Paused}
		if a.Active != catalog.Unknown {
			fa.Acts = a.Active.String()
		}
		f.Actors = append(f.Actors, fa)
	}
	for _, w := range m.Workloads {
		f.Workloads = append(f.Workloads, fileWorkload(w))
	}
	for _, n := range m.Nodes {
		f.Nodes = append(f.Nodes, fileNodeState{n.Name, n.Ready, n.Master, n.Heartbeat, fileLease(n.Lease), filePoolState(n.Config)})
	}
	for _, g := range m.Gaps {
		f.Gaps = append(f.Gaps, packGap(g))
	}
	return f
}

func packPods(l inspect.PodList) filePodList {
	var f filePodList
	for _, pod := range l.Pods {
		f.Pods = append(f.Pods, filePod(pod))
	}
	if l.Gap != nil {
		g := packGap(*l.Gap)
		f.Gap = &g
	}
	return f
}

func (p *packer) rollout(r inspect.Rollout) fileRollout {
	f := fileRollout{Operator: r.Operator, Source: p.certsOf(r.Source), Latest: r.Latest, Masters: p.revisions(r.Masters)}
	for _, root := range r.RootCAs {
		f.RootCAs = append(f.RootCAs, fileRootCA{root.Namespace, p.certsOf(root.CA), root.Created, root.Written})
	}
	if s := r.Scheduler; s != nil {
		f.Scheduler = &fileRevisions{p.certsOf(s.Source), s.Latest, p.revisions(s.Masters)}
	}
	return f
}

func (p *packer) revisions(of []inspect.Revision) (out bounded[fileRevision]) {
	for _, m := range of {
		out = append(out, fileRevision{m.Node, m.Current, m.Target, m.Failed, p.certsOf(m.CA), m.Ready, m.Silent, m.Installer})
	}
	return out
}

// certsOf are indices; nil stays nil, which says something else than none.
func (p *packer) certsOf(certs []*pki.Cert) []int {
	if certs == nil {
		return nil
	}
	out := []int{}
	for _, c := range certs {
		out = append(out, p.cert(c))
	}
	return out
}

// unpack is the other way; cert returns a certificate of the file's.
func (f *fileStatus) unpack(cert func(int) (*pki.Cert, error)) (*inspect.ClusterStatus, error) {
	if f == nil {
		return nil, nil //nolint:nilnil // it was not read
	}
	s := &inspect.ClusterStatus{Read: f.Read, ControlPlane: f.ControlPlane.unpack(), Published: f.Published}
	if f.StaticPods != nil {
		list := f.StaticPods.unpack()
		s.StaticPods = &list
	}
	if f.Signers != nil {
		s.Signers = &inspect.SignersRead{Signer: inspect.SignerRead(f.Signers.Signer), Source: inspect.SignerRead(f.Signers.Source)}
	}
	if n := f.Network; n != nil {
		u := unpacker{cert: cert}
		s.Network = &inspect.NetworkRead{PodList: n.Pods.unpack(), Rollout: u.rollout(n.Rollout), Unread: n.Unread}
		if u.err != nil {
			return nil, fmt.Errorf("rollout: %w", u.err)
		}
	}
	return s, nil
}

func (f *fileControlPlane) unpack() *inspect.ControlPlaneStatus {
	if f == nil {
		return nil
	}
	m := &inspect.ControlPlaneStatus{Update: inspect.Update(f.Update), UnavailableAPIs: f.Silent}
	for _, o := range f.Operators {
		m.Operators = append(m.Operators, inspect.OperatorState(o))
	}
	for _, fs := range f.StaticPods {
		s := inspect.StaticPods{Resource: fs.Resource, Latest: fs.Latest, Conditions: fs.Conditions, Messages: fs.Messages}
		for _, at := range fs.Masters {
			s.Masters = append(s.Masters, inspect.StaticPodState(at))
		}
		m.StaticPods = append(m.StaticPods, s)
	}
	for _, i := range f.Installers {
		m.Installers = append(m.Installers, inspect.Installer(i))
	}
	for _, pool := range f.Pools {
		m.Pools = append(m.Pools, inspect.Pool(pool))
	}
	for _, fa := range f.Actors {
		a := inspect.Actor{Resource: fa.Resource, Namespace: fa.Namespace, Name: fa.Name, Why: fa.Why, Paused: fa.Paused}
		for _, answer := range []catalog.Tristate{catalog.No, catalog.Yes} {
			if fa.Acts == answer.String() {
				a.Active = answer
			}
		}
		m.Actors = append(m.Actors, a)
	}
	for _, w := range f.Workloads {
		m.Workloads = append(m.Workloads, inspect.Workload(w))
	}
	for _, n := range f.Nodes {
		m.Nodes = append(m.Nodes, inspect.NodeState{Name: n.Name, Ready: n.Ready, Master: n.Master, Heartbeat: n.Heartbeat, Lease: inspect.Lease(n.Lease), Config: catalog.PoolState(n.Config)})
	}
	for _, g := range f.Gaps {
		m.Gaps = append(m.Gaps, g.unpack())
	}
	return m
}

// packGap leaves out the next step, which is for who takes the file.
func packGap(g inspect.Gap) fileGap {
	return fileGap{What: g.What, Where: g.Where, Reason: g.Reason}
}

func (f fileGap) unpack() inspect.Gap {
	return inspect.Gap{What: f.What, Where: f.Where, Reason: f.Reason}
}

func (f filePodList) unpack() inspect.PodList {
	var l inspect.PodList
	for _, pod := range f.Pods {
		l.Pods = append(l.Pods, inspect.Pod(pod))
	}
	if f.Gap != nil {
		g := f.Gap.unpack()
		l.Gap = &g
	}
	return l
}

// unpacker turns indices into certificates; err is the first that leads nowhere.
type unpacker struct {
	cert func(int) (*pki.Cert, error)
	err  error
}

func (u *unpacker) certs(indices []int) []*pki.Cert {
	if indices == nil {
		return nil
	}
	out := []*pki.Cert{}
	for _, n := range indices {
		c, err := u.cert(n)
		if err != nil {
			u.err = err
			return nil
		}
		out = append(out, c)
	}
	return out
}

func (u *unpacker) rollout(f fileRollout) inspect.Rollout {
	r := inspect.Rollout{Operator: f.Operator, Source: u.certs(f.Source), Latest: f.Latest, Masters: u.revisions(f.Masters)}
	for _, root := range f.RootCAs {
		r.RootCAs = append(r.RootCAs, inspect.RootCA{Namespace: root.Namespace, CA: u.certs(root.CA), Created: root.Created, Written: root.Written})
	}
	if s := f.Scheduler; s != nil {
		r.Scheduler = &inspect.Revisions{Source: u.certs(s.Source), Latest: s.Latest, Masters: u.revisions(s.Masters)}
	}
	return r
}

func (u *unpacker) revisions(of []fileRevision) (out []inspect.Revision) {
	for _, m := range of {
		out = append(out, inspect.Revision{Node: m.Node, Current: m.Current, Target: m.Target, Failed: m.Failed, CA: u.certs(m.CA), Ready: m.Ready, Silent: m.Silent, Installer: m.Installer})
	}
	return out
}
