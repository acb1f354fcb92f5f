package main

import (
	"fmt"
	"path"
	"strings"
	"text/template"
)

// render fills in .krew.yaml as krew-release-bot does for a release, except that
// the sums come from sumOf, by archive name, and not from a download.
func render(text, tag string, sumOf func(archive string) (string, error)) (string, error) {
	values := struct{ TagName string }{tag}
	execute := func(text string, funcs template.FuncMap) (string, error) {
		t, err := template.New("").Option("missingkey=error").Funcs(funcs).Parse(text)
		if err != nil {
			return "", err
		}
		var b strings.Builder
		err = t.Execute(&b, values)
		return b.String(), err
	}
	out, err := execute(text, template.FuncMap{
		"addURIAndSha": func(uri, _ string) (string, error) {
			uri, err := execute(uri, nil)
			if err != nil {
				return "", err
			}
			sum, err := sumOf(path.Base(uri))
			if err != nil {
				return "", err
			}
			// The bot writes exactly this, indented for a list of platforms.
			return fmt.Sprintf("uri: %s\n    sha256: %s", uri, sum), nil
		},
	})
	if err != nil {
		return "", fmt.Errorf(".krew.yaml: %w", err)
	}
	return out, nil
}
