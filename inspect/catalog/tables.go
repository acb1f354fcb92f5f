package catalog

import (
	"slices"
	"sync"
)

// The tables are literals of some hundred rows, and a lookup goes through one of them for each
// certificate: they are made once. Clipped: appending to one makes a copy.
//
//nolint:gochecknoglobals // constants that are computed once, at first use
var (
	places     = once(allPlaces)
	rotations  = once(allRotations)
	aggregates = once(allAggregates)
	edges      = once(allEdges)
	deliveries = once(allDeliveries)
	servers    = once(allServers)
	triggers   = once(allTriggers)
)

func once[Row any](rows func() []Row) func() []Row {
	return sync.OnceValue(func() []Row { return slices.Clip(rows()) })
}

// Places returns every row about a place, in reading order: the owners from
// the API server outward, what is on nodes, then what any cluster may have.
// This and the other tables are for reading: all callers share one.
func Places() []Place { return places() }

// Rotations returns every row about who signs what.
func Rotations() []Rotation { return rotations() }

// Aggregates returns every row about which bundle must contain which others.
func Aggregates() []Aggregate { return aggregates() }

// Edges returns every row about what a client or server must trust.
func Edges() []Edge { return edges() }

// Deliveries returns every row about what reaches a place by itself.
func Deliveries() []Delivery { return deliveries() }

// Servers returns every row about what servers present.
func Servers() []Server { return servers() }

// Triggers returns every row about how something is rotated. For each version there
// is one for each signer of a Rotation, and for each Secret that it signs.
func Triggers() []Trigger { return triggers() }
