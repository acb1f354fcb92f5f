// Command certgraph is what inspect is measured against: library-go's list of
// the certificates of a cluster, as OpenShift's tests of its TLS artifacts make
// it, written as JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/openshift/library-go/pkg/certs/cert-inspection/certgraphanalysis"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	list, err := certgraphanalysis.GatherCertsFromAllNamespaces(context.Background(), client)
	if list == nil {
		return err
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "warning:", err) // what it could not read of single objects
	}
	return json.NewEncoder(os.Stdout).Encode(list)
}
