package main

import (
	"testing"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// What `-o name` prints is a name for all commands.
func TestGroupNames(t *testing.T) {
	for argument, want := range map[string]string{
		"scheduler":                            "scheduler",
		"electiongroup.podesta.dev/scheduler":  "scheduler",
		"electiongroups.podesta.dev/scheduler": "scheduler",
		"eg/scheduler":                         "scheduler",
		"pod/scheduler":                        "pod/scheduler", // an error, later
		"podesta.dev/scheduler":                "podesta.dev/scheduler",
	} {
		if got := groupName(argument); got != want {
			t.Errorf("%s: %s, want %s", argument, got, want)
		}
	}
}

// A kubeconfig that works with kubectl works here.
func TestWhoLogsInByOIDC(t *testing.T) {
	provider := &clientcmdapi.AuthProviderConfig{Name: "oidc",
		Config: map[string]string{"idp-issuer-url": "https://login.example.com", "client-id": "podesta"}}
	if _, err := rest.TransportFor(&rest.Config{AuthProvider: provider}); err != nil {
		t.Error(err)
	}
}
