package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/inject"
)

// maxManifest is the largest manifest that inject reads, in bytes.
const maxManifest = 64 << 20

const injectLong = `Put the agent into the pods of a manifest, as the install's policy puts it into pods on Kubernetes 1.36 and later; for older
clusters, and for manifests that are kept in git.

Pods and pod templates (Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, CronJob, lists) with the label ` + v1.GroupLabel + `
get it; all else stays as it is, byte for byte. What has the agent already is left alone, so a second run changes nothing.
The manifest goes to standard output, what was done to standard error.

The image is that of this program's release. Say --image if your cluster pulls it from elsewhere.`

const injectExamples = `  # Put the agent into a StatefulSet's pods, and look at what changes
  kubectl election inject -f statefulset.yaml | diff statefulset.yaml -

  # Behind another tool
  kubectl kustomize overlays/production | kubectl election inject -f - | kubectl apply -f -`

const policyLong = `Print the policies that have the API server put the agent into pods with the label ` + v1.GroupLabel + ` (Kubernetes 1.36
and later), and refuse pods that it cannot get into. An installation brings them; this is for settings of your own.`

// newInjectCommand puts the agent into manifests.
func newInjectCommand() *cobra.Command {
	var file, image, manager, namespace string
	install := func() (inject.Install, error) { return inject.NewInstall(image, manager, namespace) }
	command := &cobra.Command{
		Use:     "inject -f FILE",
		Short:   "Put the agent into the pods of a manifest",
		Long:    injectLong,
		Example: injectExamples,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unexpected argument %q: name the manifest with -f %s", args[0], args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			i, err := install()
			if err != nil {
				return err
			}
			return injectFile(file, i, c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	policy := &cobra.Command{
		Use:     "policy",
		Short:   "Print the policies that have the API server do it",
		Long:    policyLong,
		Example: "  kubectl election inject policy --image registry.example.com/podesta/agent:v1 | kubectl apply -f -",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			i, err := install()
			if err != nil {
				return err
			}
			return printPolicies(i, c.OutOrStdout())
		},
	}
	command.AddCommand(policy)
	command.Flags().StringVarP(&file, "filename", "f", "", "the manifest, YAML or JSON; - is standard input")
	f := command.PersistentFlags()
	f.StringVar(&image, "image", inject.ImageOf(version), "the agent's image")
	f.StringVar(&manager, "manager", "", "`HOST:PORT` of the manager's roster service (default podesta-roster.SYSTEM-NAMESPACE.svc:9443)")
	f.StringVar(&namespace, "system-namespace", "", "where Podesta is installed; pods there are left alone (default "+inject.DefaultNamespace+")")
	return command
}

// printPolicies writes the policies with their bindings.
func printPolicies(i inject.Install, out io.Writer) error {
	mutating, err := inject.Mutating(i)
	if err != nil {
		return err
	}
	validating, err := inject.Validating(i)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s---\n%s", mutating, validating)
	return err
}

// injectFile writes the manifest with the agent to out, and what it did to notes.
func injectFile(file string, i inject.Install, in io.Reader, out, notes io.Writer) error {
	text, err := readManifest(file, in)
	if err != nil {
		return err
	}
	result, done, err := inject.Manifests(text, i)
	if err != nil {
		return err
	}
	if _, err := out.Write(result); err != nil {
		return err
	}
	for _, note := range done {
		what := "agent put in"
		if note.HadAgent {
			what = "has the agent already"
		}
		fmt.Fprintf(notes, "%s: %s\n", note, what)
	}
	if len(done) == 0 {
		fmt.Fprintf(notes, "nothing to do: no pod or pod template has the label %s\n", v1.GroupLabel)
	}
	return nil
}

func readManifest(file string, in io.Reader) ([]byte, error) {
	switch {
	case file == "":
		return nil, errors.New("say which manifest: -f FILE, or -f - for standard input")
	case file != "-":
		opened, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer func() { _ = opened.Close() }() // it was only read
		in = opened
	}
	text, err := io.ReadAll(io.LimitReader(in, maxManifest+1))
	if err == nil && len(text) > maxManifest {
		err = fmt.Errorf("%s is larger than %d MiB: split it", strings.TrimPrefix(file, "-"), maxManifest>>20)
	}
	return text, err
}
