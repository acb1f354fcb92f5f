// Package third is a dependency that drags a control plane in.
package third

import _ "k8s.io/kubernetes/pkg/api"
