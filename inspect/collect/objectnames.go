package collect

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// namesAtMost is how many names are asked for at once: they are suggestions.
const namesAtMost = 500

// ObjectNames are names of objects of a resource, the first of them; in a namespace, where the
// resource has one. Only metadata is asked for: no value of a Secret comes along.
func (c *Cluster) ObjectNames(ctx context.Context, r Resource, namespace string) ([]string, error) {
	path := "/apis/" + r.apiVersion + "/"
	if r.apiVersion == "v1" {
		path = "/api/v1/"
	}
	if r.Namespaced && namespace != "" {
		path += "namespaces/" + namespace + "/"
	}
	answer := withOptions(c.REST.Get().AbsPath(path+r.path()), metav1.ListOptions{Limit: namesAtMost}).
		SetHeader("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1").Do(ctx)
	if err := answer.Error(); err != nil {
		return nil, err
	}
	raw, err := answer.Raw()
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
		}
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	names := make([]string, len(list.Items))
	for i, item := range list.Items {
		names[i] = item.Metadata.Name
	}
	return names, nil
}
