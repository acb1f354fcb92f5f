package plugin

import (
	"encoding/xml"
	"fmt"
	"io"
)

// The document in which CI systems read the outcome of tests.
type (
	junitDocument struct {
		XMLName struct{}     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Failure *junitMessage `xml:"failure,omitempty"`
		Skipped *junitMessage `xml:"skipped,omitempty"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
	}
)

// fail makes the case one that failed, and skip one of which nothing is known.
func (c *junitCase) fail(why string) { c.Failure = &junitMessage{clean(why)} }
func (c *junitCase) skip(why string) { c.Skipped = &junitMessage{clean(why)} }

// add counts a case.
func (s *junitSuite) add(c junitCase) {
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Skipped != nil {
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

// write writes the document.
func (d *junitDocument) write(w io.Writer) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(d); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}
