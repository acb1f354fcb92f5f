package cli

import (
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/homedir"
)

// ConfigFlags are kubectl's flags that say which cluster is meant, and as which user, in their zero value none of
// them. cli-runtime has a type of that name, with the same flags; but it discovers resources, too, for which
// it links the types of every API group.
type ConfigFlags struct {
	clientcmd.ConfigOverrides
	KubeConfig string
	// Wrap changes each configuration of a client; nil: none.
	Wrap func(*rest.Config) *rest.Config

	userExtra []string
	cacheDir  string // of resources that kubectl discovered: there are none here
	load      sync.Once
	loader    clientcmd.ClientConfig
}

// AddFlags adds the flags, with kubectl's names, texts and defaults.
func (f *ConfigFlags) AddFlags(flags *pflag.FlagSet) {
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.AuthOverrideFlags.Username, names.AuthOverrideFlags.Password = clientcmd.FlagInfo{}, clientcmd.FlagInfo{} // kubectl's for "config" alone
	names.ContextOverrideFlags.Namespace = clientcmd.FlagInfo{}                                                     // it would take "ns/" off the name
	names.AuthOverrideFlags.Impersonate.Description = "Username to impersonate for the operation. User could be a regular user or a service account in a namespace."
	names.AuthOverrideFlags.ImpersonateUID.Description = "UID to impersonate for the operation."
	names.ClusterOverrideFlags.APIServer.ShortName = "s"
	names.ClusterOverrideFlags.TLSServerName.Description = "Server name to use for server certificate validation. If it is not provided, the hostname used to contact the server is used"
	names.ClusterOverrideFlags.ProxyURL.Description = "Proxy URL to use for requests to the API server"
	clientcmd.BindOverrideFlags(&f.ConfigOverrides, flags, names)
	flags.StringVarP(&f.Context.Namespace, clientcmd.FlagNamespace, "n", "", "If present, the namespace scope for this CLI request")
	flags.StringArrayVar(&f.userExtra, "as-user-extra", nil, "User extras to impersonate for the operation, this flag can be repeated to specify multiple values for the same key.")
	flags.StringVar(&f.KubeConfig, clientcmd.RecommendedConfigPathFlag, "", "Path to the kubeconfig file to use for CLI requests.")
	flags.StringVar(&f.cacheDir, "cache-dir", cacheDir(), "Default cache directory")
}

// cacheDir is where kubectl keeps what it discovered.
func cacheDir() string {
	if dir := os.Getenv("KUBECACHEDIR"); dir != "" {
		return dir
	}
	return filepath.Join(homedir.HomeDir(), ".kube", "cache")
}

// ToRawKubeConfigLoader is the kubeconfig with what the flags say. It is read once.
func (f *ConfigFlags) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	f.load.Do(func() {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.DefaultClientConfig, rules.ExplicitPath = &clientcmd.DefaultClientConfig, f.KubeConfig
		f.ClusterDefaults = clientcmd.ClusterDefaults
		for _, extra := range f.userExtra {
			if key, value, ok := strings.Cut(extra, "="); ok {
				if f.AuthInfo.ImpersonateUserExtra == nil {
					f.AuthInfo.ImpersonateUserExtra = map[string][]string{}
				}
				f.AuthInfo.ImpersonateUserExtra[key] = append(f.AuthInfo.ImpersonateUserExtra[key], value)
			}
		}
		f.loader = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &f.ConfigOverrides)
	})
	return f.loader
}

// ToRESTConfig is how a client asks the API server.
func (f *ConfigFlags) ToRESTConfig() (*rest.Config, error) {
	c, err := f.ToRawKubeConfigLoader().ClientConfig()
	if err != nil || f.Wrap == nil {
		return c, err
	}
	return f.Wrap(c), nil
}
