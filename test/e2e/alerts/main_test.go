// Package alerts tells an operator's story. It fires every alert of config/prometheus/rules.yaml by
// its real fault, on the local cluster of hack/cluster, with a real Prometheus that scrapes the
// manager and the agents as docs/start/install.md says; kubectl election explains what is wrong,
// and the commands of the runbook mend it. And it has every query of every dashboard answered.
// `make alerts` runs it. It needs bin/ (make build), KUBEBUILDER_ASSETS (bin/cluster assets), and
// Prometheus on the PATH.
package alerts

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/podesta-dev/podesta/test/alerts"
	"github.com/podesta-dev/podesta/test/port"
	"github.com/podesta-dev/podesta/test/prometheus"
	"github.com/podesta-dev/podesta/test/stage"
)

const (
	root = "../../.."
	// every is between two scrapes, and between two evaluations of the rules.
	every = time.Second
	// patience is how long a step may take on a loaded machine before it counts as failed.
	patience = 2 * time.Minute
)

// What all tests use.
var (
	state      string // the cluster's directory, and below it Prometheus'
	kubeconfig string
	prom       prometheus.Client
)

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "alerts:", err)
		code = 1
	}
	os.Exit(code)
}

// run runs the tests between the start of cluster and Prometheus and their end.
func run(m *testing.M) (code int, err error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return 1, errors.New("KUBEBUILDER_ASSETS is not set: run `make alerts`")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if state, err = os.MkdirTemp("", "podesta-alerts-"); err != nil {
		return 1, err
	}
	defer func() {
		if code == 0 && err == nil {
			_ = os.RemoveAll(state)
		} else {
			fmt.Fprintln(os.Stderr, "alerts: the logs are in", state)
		}
	}()
	if err := os.Mkdir(filepath.Join(state, "prometheus"), 0o700); err != nil {
		return 1, err
	}
	scrapes, leave, err := reach(ctx)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, leave()) }()
	server, err := startPrometheus(ctx, scrapes)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	prom = server.Client
	discovering, stop := context.WithCancel(context.Background())
	defer stop()
	if err := discover(discovering); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// reach starts the local cluster, and returns what Prometheus is to scrape.
func reach(ctx context.Context) (scrapes []any, leave func() error, err error) {
	agents, err := documentedScrape("podesta-agents", podsFile)
	if err != nil {
		return nil, nil, err
	}
	metrics, err := port.Keep()
	if err != nil {
		return nil, nil, err
	}
	cluster, err := stage.Up(ctx, root, state, os.Stderr, "--manager-arg=--leader-elect=true",
		"--manager-arg=--metrics-address="+metrics.Address, "--manager-arg=--metrics-secure=false")
	if err != nil {
		return nil, nil, errors.Join(err, metrics.Close())
	}
	kubeconfig = cluster.Kubeconfig
	return []any{agents, map[string]any{
		"job_name":     "podesta-manager",
		"honor_labels": true,
		"static_configs": []any{map[string]any{
			"targets": []string{metrics.Address},
			"labels":  map[string]string{"namespace": "podesta-system", "pod": "podesta-manager-0"},
		}},
	}}, func() error { return errors.Join(cluster.Close(), metrics.Close()) }, nil
}

// startPrometheus starts Prometheus with the rules, which fire after one evaluation.
func startPrometheus(ctx context.Context, scrapes []any) (*prometheus.Server, error) {
	rules, err := alerts.Read(root)
	if err != nil {
		return nil, err
	}
	hurried, err := rules.Hurried(every).File()
	if err != nil {
		return nil, err
	}
	config, err := yaml.Marshal(map[string]any{
		"global": map[string]any{
			"scrape_interval":     every.String(),
			"scrape_timeout":      (every * 9 / 10).String(),
			"evaluation_interval": every.String(),
		},
		"rule_files": []string{"rules.yaml"},
		"scrape_configs": append(scrapes, map[string]any{
			"job_name":        "outside-kubernetes",
			"file_sd_configs": fromFile(outsideFile),
		}),
	})
	if err != nil {
		return nil, err
	}
	return prometheus.Start(ctx, filepath.Join(state, "prometheus"), config, map[string][]byte{
		"rules.yaml": hurried,
		outsideFile:  []byte("[]"),
		podsFile:     []byte("[]"),
	})
}

// fromFile has Prometheus find targets in a file.
func fromFile(file string) []any { return []any{map[string]any{"files": []string{file}}} }

// documentedScrape is a scrape_config that docs/start/install.md shows to those who do without the
// Prometheus operator. What finds the pods is this program (discover): Debian's Prometheus is built
// without what would ask Kubernetes.
func documentedScrape(job, file string) (map[string]any, error) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "start", "install.md"))
	if err != nil {
		return nil, err
	}
	for _, block := range strings.Split(string(page), "```yaml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		if !strings.Contains(block, "job_name: "+job) {
			continue
		}
		var config struct {
			ScrapeConfigs []map[string]any `json:"scrape_configs"`
		}
		if err := yaml.UnmarshalStrict([]byte(block), &config); err != nil {
			return nil, err
		}
		delete(config.ScrapeConfigs[0], "kubernetes_sd_configs")
		config.ScrapeConfigs[0]["file_sd_configs"] = fromFile(file)
		return config.ScrapeConfigs[0], nil
	}
	return nil, fmt.Errorf("docs/start/install.md has no scrape_config %s", job)
}
