package foreign

import "fmt"

// maxPages is how many pages of a list are read: of 500 objects each.
const maxPages = 10_000

// Pages follows the continue tokens of a list. The server chooses them, and may lead in a circle.
type Pages struct {
	token string
	read  int
}

// Next takes the token that a page gave, and reports whether there is another page. The error says
// that the list does not end.
func (p *Pages) Next(token string) (more bool, err error) {
	p.read++
	switch {
	case token == "":
		return false, nil
	case token == p.token:
		return false, fmt.Errorf("the API server's list does not go on: page %d leads to itself", p.read)
	case p.read == maxPages:
		return false, fmt.Errorf("the API server's list does not end: %d pages were read, and there is another one", p.read)
	}
	p.token = token
	return true, nil
}
