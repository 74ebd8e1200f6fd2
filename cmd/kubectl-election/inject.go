package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/inject"
)

const injectLong = `Add the agent to the pods of a manifest. On Kubernetes 1.36 and later the
installed policy does this when pods are created; use this command for older clusters, and for
manifests that are kept in git.

The command adds the agent to pods and pod templates (of a Deployment, StatefulSet, DaemonSet,
ReplicaSet, Job, CronJob or List) that have the label ` + v1.GroupLabel +
	`. Everything else stays the same,
byte for byte. Pods that already have the agent are not changed, so a second run changes nothing.
The manifest is written to standard output, a summary to standard error.

The default image is the one of this program's release. Set --image if your cluster pulls images
from another registry.`

const injectExamples = `  # Add the agent to the pods of a StatefulSet and show what changes
  kubectl election inject -f statefulset.yaml | diff statefulset.yaml -

  # Use the output of another tool
  kubectl kustomize overlays/production | kubectl election inject -f - | kubectl apply -f -`

const policyLong = `Print the admission policies that add the agent to pods with the label ` +
	v1.GroupLabel + ` (Kubernetes
1.36 and later) and refuse pods that it cannot be added to. A standard installation already has
them; use this command to generate them with your own settings.`

// newInjectCommand returns the command that adds the agent to manifests.
func newInjectCommand() *cobra.Command {
	var file string
	var of installation
	command := &cobra.Command{
		Use:     "inject -f FILE",
		Short:   "Add the agent to the pods of a manifest",
		Long:    injectLong,
		Example: injectExamples,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf(
					"unexpected argument %q: to read that manifest, use -f %s",
					args[0],
					args[0],
				)
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			i, err := of.install()
			if err != nil {
				return err
			}
			return injectFile(file, i, c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	policy := &cobra.Command{
		Use:   "policy",
		Short: "Print the admission policies that add the agent to pods",
		Long:  policyLong,
		Example: "  kubectl election inject policy --image registry.example.com/podesta/agent:v1 " +
			"| kubectl apply -f -",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			i, err := of.install()
			if err != nil {
				return err
			}
			return printPolicies(i, c.OutOrStdout())
		},
	}
	command.AddCommand(policy)
	command.Flags().
		StringVarP(&file, "filename", "f", "", "manifest to read, YAML or JSON; - reads "+
			"standard input")
	of.addFlags(command.PersistentFlags())
	return command
}

// installation is where Podesta is installed, and with which image, as flags say.
type installation struct{ image, manager, namespace string }

func (i *installation) addFlags(f *pflag.FlagSet) {
	f.StringVar(&i.image, "image", inject.ImageOf(version), "image of the agent")
	f.StringVar(
		&i.manager,
		"manager",
		"",
		"`HOST:PORT` of the manager's roster service (default "+
			"podesta-roster.SYSTEM-NAMESPACE.svc:9443)",
	)
	f.StringVar(
		&i.namespace,
		"system-namespace",
		"",
		"namespace in which Podesta is installed, whose pods are not changed "+
			"(default "+inject.DefaultNamespace+")",
	)
}

func (i *installation) install() (inject.Install, error) {
	install, err := inject.NewInstall(i.image, i.manager, i.namespace)
	return install, usage(err)
}

// printPolicies writes the policies and their bindings.
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

// injectFile writes the manifest with the agent to out, and what it has done to notes.
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
		what := "agent added"
		if note.HadAgent {
			what = "already has the agent"
		}
		fmt.Fprintf(notes, "%s: %s\n", note, what)
	}
	if len(done) == 0 {
		fmt.Fprintf(
			notes,
			"nothing to do: no pod or pod template has the label %s\n",
			v1.GroupLabel,
		)
	}
	return nil
}

func readManifest(file string, in io.Reader) ([]byte, error) {
	switch file {
	case "":
		return nil, usage(errors.New("no manifest: use -f FILE, or -f - to read standard input"))
	case "-":
		return io.ReadAll(in)
	default:
		return os.ReadFile(file)
	}
}
