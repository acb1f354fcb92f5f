package catalog

// TokenLog is a row: whether a version's machine-config-daemon prints the kubeconfig with which machines join
// the cluster, its token or key included, into its log when it writes a new CA into it.
type TokenLog struct {
	Prints bool
	// Upgrade says which versions no longer print it, for people; set where Prints is.
	Upgrade string
	In      Range
	Evidence
}

// tokenLogs returns every row about that log.
func tokenLogs() []TokenLog {
	const file = mcoRepo + "pkg/daemon/certificate_writer.go @ "
	read := Evidence{Verified, file + "release-4.16 7327bb235 and release-4.17 3bdd678e8 (2026-07)"}
	// 4.20.9 was withdrawn (openshift/cincinnati-graph-data 58fa71303).
	rows := []TokenLog{
		{In: Range{Component: mco, To: Minor{4, 15}}, Evidence: Evidence{Verified, file + "release-4.15 1ffa8341f: it writes no kubeconfig"}},
		{Prints: true, Upgrade: "4.18.32, 4.19.22, 4.20.10, 4.21 or a later one of the same minor", In: between(mco, Minor{4, 16}, Minor{4, 17}), Evidence: read},
		{In: since(mco, Minor{4, 21}), Evidence: Evidence{Verified, file + "release-4.21 db84d8368 and release-4.22 9027c94cd, since 7681165af"}},
	}
	for _, fixed := range []struct {
		minor   Minor
		change  Change
		upgrade string
		source  string
	}{
		{Minor{4, 18}, Change{Lacks: 30, Has: 32, Merged: "2026-01-06"}, "4.18.32 or a later 4.18", "release-4.18: 081cb346f, merged as 9e588a131"},
		{Minor{4, 19}, Change{Lacks: 21, Has: 22, Merged: "2026-01-05"}, "4.19.22 or a later 4.19", "release-4.19: 0a4d5e3bd, merged as c5f035704"},
		{Minor{4, 20}, Change{Lacks: 8, Has: 9, Merged: "2025-12-18"}, "4.20.10 or a later 4.20", "release-4.20: 585850e0c, merged as 5c5e056e2"},
	} {
		e := Evidence{Derived, file + fixed.source + "; " + offered}
		rows = append(rows,
			TokenLog{Prints: true, Upgrade: fixed.upgrade, In: between(mco, fixed.minor, fixed.minor).before(fixed.change), Evidence: e},
			TokenLog{In: between(mco, fixed.minor, fixed.minor).since(fixed.change), Evidence: e})
	}
	return rows
}

// TokenLogOf returns the row that holds for v. Unknown: the version, or its patch, is.
func TokenLogOf(v Versions) (TokenLog, Tristate) {
	answer := No
	for _, row := range tokenLogs() {
		switch row.In.Holds(v) {
		case Yes:
			return row, Yes
		case Unknown:
			answer = Unknown
		}
	}
	return TokenLog{}, answer
}
