package connect

import "time"

// MaxCAFile bounds a file of CAs, in bytes: more than a ConfigMap can hold.
const MaxCAFile = 1 << 20

// DefaultWithin is --expiring-within where it is not given.
const DefaultWithin = 30 * 24 * time.Hour
