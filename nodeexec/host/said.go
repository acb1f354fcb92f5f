package host

// sentences are those of host.sh, of which each answer that fails has one (foreign.Own). Root on the node
// may write any other in its place.
func sentences() []string {
	out := fails()
	for _, doing := range tries() {
		out = append(out, doing+": {} says nothing more", doing+": {}")
	}
	return out
}

// fails are what the script says of a failure.
func fails() []string {
	return []string{
		// what is not as expected
		"it is gone", "it is no symbolic link", "its content is not what was read", "something else has its name now",
		"another program changed it just now", "another program created it just now", "it leads to {} now", "it leads to a directory", "it leads to {}",
		"another program changed it after this run did, so this run can't put back what it was: change it in a new run",
		"run {} changed it after this one: what is there is that run's, to be put back first",
		"it is neither what this run made of it nor what it was before; that is kept in {}",
		"{} was created again after this run removed it; what it was is in {}",
		"run {} did not remove it", "run {} did not change it, or a later run did",
		"run {} put it back already: what is there now is not that run's", "there is no run {} in {} on this node",
		// what is refused
		"it has {} names (hard links), and a new file would take only one of them", "it has {} bytes, and {} at {} are to be replaced",
		"it is a directory", "it is a symbolic link: name the file that it leads to", "it is no regular file",
		"folder {} belongs to user {}, and this runs as user {}: run it as the folder's owner",
		"others may write to folder {} (mode {}): look what is in it, then chmod go-w it",
		"{} is a {} and not a folder, so nothing is kept there: look who put it there",
		"what the link {} says is not to be written in a line", "{} is not from certrot: look at it, and move it out of this folder",
		"run {} made the same of a file before run {} did, and would put back what is there as its own: remove run {} first",
		"there is nothing to restart: LoadState={}",
		// who is at work
		"another certrot is at work on this node: wait for its end", "{} is at work on this node",
		// what failed
		"folder {} is gone again", "{} changes all the time", "readlink {} says nothing", "copy it to {}: the copy differs",
		"{} can't be read as an entry: look at it, and at the files before-* beside it",
		"{} can't be read as an entry, and it may be that run's: look at it", "{} can't be read as an entry: look at it",
		"the bytes that were there before are not in {} any more", "write the new file: it differs from {}",
		"the new file would have mode {}, owner {} and label {} in place of {}, {} and {}",
		"what is to be inserted did not arrive whole", "{} is about {}", "there is no systemctl on this node", "there is no {} on this node",
		"the new file is there, and has another name beside it: {}",
	}
}

// tries are what the script tries, and says with what a tool answered.
func tries() []string {
	return []string{
		"it was put back, and that may not be noted in {}", "note in {} that it was put back",
		"the new file is there, but may not be on the disk", "it was removed, but that may not be on the disk", "the new link is there, but may not be on the disk",
		"look at {}", "read {}", "make a file in {}", "sha256sum", "make the new file beside it", "make the new link beside it",
		"give the new file its name", "give the new link its name", "remove what is in {}", "remove the folder", "remove what an earlier attempt left beside {}",
		"remove what an earlier attempt left in {}", "remove {}", "systemctl show {}", "make folder {}", "sync the new file", "sync {}", "lock {}",
		"rename {} to {}", "write the new file", "write {}", "chmod {}", "take {} from {}", "copy it to {}", "give the new file what the old one has",
		"give the new file to user {}, group {}", "give the new file mode {}", "give the new file the label {}", "make the new link", "systemd-run",
	}
}
