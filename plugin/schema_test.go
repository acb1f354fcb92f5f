package plugin

import (
	"reflect"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report/reporttest"
)

func TestTheVersionHasASchema(t *testing.T) {
	t.Parallel()
	reporttest.Document{APIVersion: report.APIVersion, Kind: "Version", Type: reflect.TypeFor[versionDocument]()}.Check(t)
}
