// Command bare is what inspect is measured against: client-go lists all Secrets
// and ConfigMaps in pages, as protobuf, and parses every PEM certificate in
// every value. It judges and prints nothing but counts, and with -print the
// sha256 of each certificate, to see how many distinct ones there are.
package main

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	certs, objects, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	fmt.Println(objects, "objects,", certs, "certificates")
}

func run() (certs, objects int, err error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return 0, 0, err
	}
	config.QPS = -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = config.ContentType + ",application/json"
	core := kubernetes.NewForConfigOrDie(config).CoreV1()
	ctx := context.Background()
	opts := metav1.ListOptions{Limit: 500}
	for {
		var list *corev1.SecretList
		if list, err = core.Secrets("").List(ctx, opts); err != nil {
			return certs, objects, err
		}
		for i := range list.Items {
			for _, v := range list.Items[i].Data {
				certs += parse(v)
			}
		}
		objects += len(list.Items)
		if opts.Continue = list.Continue; opts.Continue == "" {
			break
		}
	}
	for {
		var list *corev1.ConfigMapList
		if list, err = core.ConfigMaps("").List(ctx, opts); err != nil {
			return certs, objects, err
		}
		for i := range list.Items {
			for _, v := range list.Items[i].Data {
				certs += parse([]byte(v))
			}
		}
		objects += len(list.Items)
		if opts.Continue = list.Continue; opts.Continue == "" {
			return certs, objects, nil
		}
	}
}

func parse(data []byte) (n int) {
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			return n
		}
		if block.Type == "CERTIFICATE" {
			if _, err := x509.ParseCertificate(block.Bytes); err != nil {
				continue
			}
			if n++; len(os.Args) > 1 {
				fmt.Printf("%x\n", sha256.Sum256(block.Bytes))
			}
		}
	}
}
