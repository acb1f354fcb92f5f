package report

import (
	"reflect"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/report/reporttest"
)

func TestDocumentsHaveSchemas(t *testing.T) {
	t.Parallel()
	for kind, of := range map[string]reflect.Type{
		inventoryKind: reflect.TypeFor[Inventory](), verificationKind: reflect.TypeFor[Verification](), restartKind: reflect.TypeFor[RestartReport](), servedKind: reflect.TypeFor[ServedChains](),
	} {
		reporttest.Document{APIVersion: APIVersion, Kind: kind, Type: of, As: map[reflect.Type]reflect.Type{reflect.TypeFor[Cert](): reflect.TypeFor[certDocument]()}}.Check(t)
	}
}
