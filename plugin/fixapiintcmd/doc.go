// Package fixapiintcmd is the commands fix-api-int, its status, and pretrust.
package fixapiintcmd
