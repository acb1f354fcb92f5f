// Package catalog downloads its tables.
package catalog

import _ "net/http"
