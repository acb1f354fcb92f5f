// Command hyperkube is the lab's one binary for Kubernetes: kube-apiserver,
// kube-controller-manager, kube-scheduler, kubelet, kubectl and oc, chosen by
// the name it is called by. They share nearly all of their code, so one binary
// is what keeps the build and the cache small.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectlcmd "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/plugin"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	kcm "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"

	// The lab reads its CustomResourceDefinitions from this module's folder;
	// the import (of a package without code) makes go.mod pin it.
	_ "github.com/openshift/api/route/v1/zz_generated.crd-manifests"
)

func main() {
	name := filepath.Base(os.Args[0])
	if name == "hyperkube" && len(os.Args) > 1 {
		// All that follows sees the arguments as if it had been called by the
		// other name; kubectl looks for plugins in them.
		os.Args = os.Args[1:]
		name = os.Args[0]
	}
	switch name {
	case "kube-apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "kube-controller-manager":
		os.Exit(cli.Run(kcm.NewControllerManagerCommand()))
	case "kube-scheduler":
		os.Exit(cli.Run(scheduler.NewSchedulerCommand()))
	case "kubelet":
		os.Exit(cli.Run(kubelet.NewKubeletCommand(context.Background())))
	case "kubectl":
		runKubectl("kubectl")
	case "oc":
		// A stand-in for oc as far as plugins go: oc is built on the same
		// command and looks for oc-NAME before kubectl-NAME. It has none of
		// oc's own commands.
		runKubectl("oc", "kubectl")
	default:
		names := []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl", "oc"}
		fmt.Fprintf(os.Stderr, "%s: no such component: call it as, or with the first argument, one of: %s\n", name, strings.Join(names, ", "))
		os.Exit(2)
	}
}

// runKubectl is kubectl's own main, with the prefixes under which plugins are
// looked up.
func runKubectl(prefixes ...string) {
	_, _ = logs.GlogSetter(kubectlcmd.GetLogVerbosity(os.Args))
	plugin.ValidPluginFilenamePrefixes = prefixes // completion and `plugin list` read this one
	c := kubectlcmd.NewDefaultKubectlCommandWithArgs(kubectlcmd.KubectlOptions{
		PluginHandler: kubectlcmd.NewDefaultPluginHandler(prefixes),
		Arguments:     os.Args,
		IOStreams:     genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
	})
	if err := cli.RunNoErrOutput(c); err != nil {
		kubectlutil.CheckErr(err)
	}
}
