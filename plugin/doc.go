// Package plugin is the command: the tree of all commands, and what happens around each of them, such as memory
// limits, signals and the exit code. A command has a folder of its own (inspectcmd, rotatecmd, …); cli, ui, connect and
// apply are what they share. docs/architecture.md says what is where.
package plugin
