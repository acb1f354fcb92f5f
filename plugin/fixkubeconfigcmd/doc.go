// Package fixkubeconfigcmd is the command fix-kubeconfig.
package fixkubeconfigcmd
