// Package dates holds what certrot says of renewals against the code that decides
// them: library-go's certificate rotation, and client-go's certificate manager. It
// has tests only, and is a module of its own because library-go follows another
// Kubernetes than the plugin.
package dates
