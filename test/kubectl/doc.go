// Package kubectl holds the test that a real kubectl knows each kubectl command that the
// program, its documentation and its examples name. It is a module of its own: what
// kubectl needs is in no list of the plugin's.
package kubectl
