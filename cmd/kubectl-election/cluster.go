package main

import (
	"github.com/spf13/pflag"
	_ "k8s.io/client-go/plugin/pkg/client/auth/oidc" // as kubectl has it
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// cluster locates the cluster, the user and the namespace as kubectl does: by kubectl's flags,
// KUBECONFIG and ~/.kube/config.
type cluster struct {
	rules     *clientcmd.ClientConfigLoadingRules
	overrides clientcmd.ConfigOverrides
	system    string // the manager's namespace
}

// addFlags adds them to all commands.
func (c *cluster) addFlags(f *pflag.FlagSet) {
	f.StringVar(&c.system, "system-namespace", "podesta-system", "the manager's namespace")
	c.rules = clientcmd.NewDefaultClientConfigLoadingRules()
	f.StringVar(&c.rules.ExplicitPath, "kubeconfig", "", "path to the kubeconfig file")
	clientcmd.BindOverrideFlags(&c.overrides, f, clientcmd.RecommendedConfigOverrideFlags(""))
}

func (c *cluster) loading() clientcmd.ClientConfig {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(c.rules, &c.overrides)
}

// config returns how the API server is reached.
func (c *cluster) config() (*rest.Config, error) {
	config, err := c.loading().ClientConfig()
	if err != nil {
		return nil, noCluster(err)
	}
	return config, nil
}

// configure returns that, and the namespace to use.
func (c *cluster) configure() (*rest.Config, string, error) {
	config, err := c.config()
	if err != nil {
		return nil, "", err
	}
	namespace, _, err := c.loading().Namespace()
	return config, namespace, err
}

// connect returns a client, and the namespace to use.
func (c *cluster) connect() (apiClient, string, error) {
	config, namespace, err := c.configure()
	if err != nil {
		return nil, "", err
	}
	server, err := newAPIServer(config)
	if err != nil {
		return nil, "", err
	}
	return server, namespace, nil
}
