package ui

import (
	"encoding/xml"
	"fmt"
	"io"
)

type (
	// JunitDocument is the document in which CI systems read the outcome of tests.
	JunitDocument struct {
		XMLName struct{}     `xml:"testsuites"`
		Suites  []JunitSuite `xml:"testsuite"`
	}
	// JunitSuite is a suite of it.
	JunitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []JunitCase `xml:"testcase"`
	}
	// JunitCase is a case of a suite.
	JunitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Failure *junitMessage `xml:"failure,omitempty"`
		Skipped *junitMessage `xml:"skipped,omitempty"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
	}
)

// Fail makes the case one that failed, and skip one of which nothing is known.
func (c *JunitCase) Fail(why string) { c.Failure = &junitMessage{Clean(why)} }

// Skip marks a case as not decided.
func (c *JunitCase) Skip(why string) { c.Skipped = &junitMessage{Clean(why)} }

// Add counts a case.
func (s *JunitSuite) Add(c JunitCase) {
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Skipped != nil {
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

// Write writes the document.
func (d *JunitDocument) Write(w io.Writer) error {
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
