package fixapiintcmd

import (
	"reflect"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report/reporttest"
)

func TestTheDocumentHasASchema(t *testing.T) {
	t.Parallel()
	reporttest.Document{APIVersion: report.APIVersion, Kind: "Repair", Type: reflect.TypeFor[repairDocument]()}.Check(t)
}
