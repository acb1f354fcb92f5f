// Package host changes files on a node and restarts units there, through a
// nodeexec.Node, with backups and undo. Interrupted at any moment (kill -9, connection
// lost, power cut), each file is what it was or what it was to be; running the
// same again is safe; and nothing is written over what was not read before, which a
// sha256 says.
//
// What changes files is one shell script, host.sh, with the tools of the node. A
// copy of it lies in each run's folder as undo, for a person at a console who has
// no certrot:
//
//	sh /var/lib/certrot/RUN/undo
//
// The package knows nothing of certificates. It does not create or delete files,
// follow links, or change what has several names. The bytes of files do not leave
// the node: sha256, size, mode, owner and SELinux label do.
package host
