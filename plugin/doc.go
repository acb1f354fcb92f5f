// Package plugin is the command line: flags, printing, colours, progress and
// exit codes. It alone knows cobra and prints; what it prints is computed by
// inspect, from what inspect/collect read.
package plugin
