package rotatecmd

import (
	"reflect"
	"testing"

	"github.com/kubectl-certrot/kubectl-certrot/inspect/report"
	"github.com/kubectl-certrot/kubectl-certrot/inspect/report/reporttest"
)

func TestDocumentsHaveSchemas(t *testing.T) {
	t.Parallel()
	for kind, of := range map[string]reflect.Type{
		"Rotations":      reflect.TypeFor[rotationsDocument](),
		"RotationPlan":   reflect.TypeFor[rotationPlanDocument](),
		"RotationStatus": reflect.TypeFor[rotationStatusDocument](),
		"RotationFlow":   reflect.TypeFor[rotationFlowDocument](),
	} {
		reporttest.Document{APIVersion: report.APIVersion, Kind: kind, Type: of}.Check(t)
	}
}
