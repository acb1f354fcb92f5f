package apiprobe

import (
	"context"
	_ "embed" // the program is a shell script
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-certrot/kubectl-certrot/foreign"
	"github.com/kubectl-certrot/kubectl-certrot/inspect"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/collect/gather"
	"github.com/kubectl-certrot/kubectl-certrot/nodeexec"
)

//go:embed probe.sh
var program string

// patience is for one request: to find the server, to connect, and for its answer.
const patience = 10 * time.Second

// argumentsEach is how many arguments of probe.sh a request takes.
const argumentsEach = 10

// run asks on the node, and returns an answer for each request in argv, and the tool
// that asked.
func run(ctx context.Context, node gather.Runner, argv []string) ([]line, string, error) {
	requests := len(argv) / argumentsEach
	var command []string
	if root := node.Path("/"); root != "/" { // with the node's own tools, and its own names
		command = []string{"chroot", root}
	}
	command = append(command, "/bin/sh", "-s", "--", strconv.Itoa(int(patience/time.Second)))
	limit := time.Duration(requests)*(patience+time.Second) + 30*time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the node gives no answer within %s", limit))
	defer cancel()
	out, err := node.Run(ctx, strings.NewReader(program), append(command, argv...)...)
	var failed *nodeexec.RunError
	if errors.As(err, &failed) { // what it was told helps no one
		brief := *failed
		brief.Argv = []string{"probe.sh"}
		err = &brief
	}
	if err != nil {
		return nil, "", fmt.Errorf("ask on the node: %w", err)
	}
	lines, tool, err := answers(string(out))
	if err == nil && len(lines) != requests {
		err = fmt.Errorf("%d answers to %d questions", len(lines), requests)
	}
	if err != nil {
		return nil, "", fmt.Errorf("ask on the node: %w", err)
	}
	return lines, tool, nil
}

// line is one answer as the node tells it.
type line struct {
	exit, code      int
	address, reason string
	user            string
}

// answers reads what probe.sh prints. What a node answers is not trusted.
func answers(out string) (lines []line, tool string, err error) {
	rest, ok := strings.CutPrefix(out, "certrot-probe 1\n")
	rest, whole := strings.CutSuffix(rest, "\nend\n")
	if !ok || !whole {
		return nil, "", fmt.Errorf("the answer of the node is not whole: %s", foreign.Quoted(fmt.Sprintf("%.200s", out)))
	}
	form := regexp.MustCompile(`^answer (\d{1,3}) (\d{1,3}) ([0-9a-fA-F.:]{2,45}|-) ([A-Za-z]{1,40}|-) ([A-Za-z0-9:._@-]{1,400})$`)
	for i, text := range strings.Split(rest, "\n") {
		if i == 0 {
			tool, ok = strings.CutPrefix(text, "tool ")
			if !ok || len(tool) > 500 {
				return nil, "", fmt.Errorf("the answer of the node is not understood: %s", foreign.Quoted(fmt.Sprintf("%.200s", text)))
			}
			continue
		}
		m := form.FindStringSubmatch(text)
		if m == nil {
			return nil, "", fmt.Errorf("the answer of the node is not understood: %s", foreign.Quoted(fmt.Sprintf("%.200s", text)))
		}
		var l line
		l.exit, _ = strconv.Atoi(m[1]) // digits, by the pattern
		l.code, _ = strconv.Atoi(m[2])
		l.address, l.reason = strings.Trim(m[3], "-"), strings.Trim(m[4], "-")
		if l.user = m[5]; l.user == "-" {
			l.user = ""
		}
		lines = append(lines, l)
	}
	return lines, tool, nil
}

// The statuses of probe.sh's own; the others are curl's.
const (
	exitChanged = 201
	exitOdd     = 202
	exitNoTool  = 203
	exitNoFile  = 204
)

// into says what an answer means for a request.
func (l line) into(a *inspect.ProbeAnswer, tool string) {
	a.Address, a.Code, a.Reason, a.User = l.address, l.code, l.reason, l.user
	if l.code > 0 {
		return
	}
	a.Failure, a.Detail = l.failure(a, tool)
}

func (l line) failure(a *inspect.ProbeAnswer, tool string) (inspect.Failure, string) {
	host, _, _ := net.SplitHostPort(a.Server) // it was joined here
	switch l.exit {
	case exitChanged:
		return inspect.FailedChanged, "the file changed while it was read: ask again"
	case exitOdd:
		return inspect.FailedTool, "the token holds characters that no token has; it was not sent"
	case exitNoTool:
		had := ""
		if version := strings.TrimSpace(strings.TrimPrefix(tool, "none")); version != "" && version != "lacking" {
			had = " (there is " + foreign.Text(version) + ")"
		}
		return inspect.FailedTool, "the node has neither curl 7.49 or newer with OpenSSL, nor openssl 1.1 or newer with timeout" + had + ": install one, or ask on the node yourself"
	case exitNoFile:
		return inspect.FailedTool, "the credentials or the CA that the file names can't be read on the node"
	case 5, 6:
		return inspect.FailedResolve, "the name " + host + " does not resolve on the node"
	case 7:
		return inspect.FailedConnect, "no connection from the node to " + a.Server
	case 28:
		return inspect.FailedTime, fmt.Sprintf("%s gives no answer within %s", a.Server, patience)
	case 51, 60:
		return inspect.FailedTrust, "the CA in the file does not verify the certificate that " + a.Server + " presents for the name " + a.Name + "; nothing was sent"
	case 8, 16, 18, 52, 55, 56, 92: // curl's words for a connection that ends too early
		return inspect.FailedAnswer, fmt.Sprintf("%s closes the connection without an answer (status %d of %s)", a.Server, l.exit, foreign.Text(tool))
	case 35:
		return inspect.FailedTLS, "the TLS handshake with " + a.Server + " fails"
	case 58:
		return inspect.FailedTool, "the client certificate or its key can't be used"
	case 77:
		return inspect.FailedTool, "the CA in the file can't be used"
	}
	return inspect.FailedTool, fmt.Sprintf("%s failed (status %d): the server's answer is unknown", foreign.Text(tool), l.exit)
}
