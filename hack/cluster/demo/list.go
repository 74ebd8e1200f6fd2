package demo

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// list writes what `kubectl get electiongroups` prints: the table that the API server makes of
// them.
func list(ctx context.Context, config *rest.Config, out io.Writer) error {
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	var table metav1.Table
	err = kube.CoreV1().RESTClient().Get().
		AbsPath("apis", v1.GroupVersion.Group, v1.GroupVersion.Version, "namespaces", "default",
			"electiongroups").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").
		Do(ctx).Into(&table)
	if err != nil {
		return err
	}
	return write(&table, out)
}

// write writes the columns of a table that kubectl shows by default.
func write(table *metav1.Table, out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	var names []string
	for _, column := range table.ColumnDefinitions {
		if column.Priority == 0 {
			names = append(names, strings.ToUpper(column.Name))
		}
	}
	fmt.Fprintln(w, "  "+strings.Join(names, "\t"))
	for _, row := range table.Rows {
		var cells []string
		for i, cell := range row.Cells {
			switch {
			case table.ColumnDefinitions[i].Priority != 0:
			case cell == nil:
				cells = append(cells, "")
			default:
				cells = append(cells, fmt.Sprint(cell))
			}
		}
		fmt.Fprintln(w, "  "+strings.Join(cells, "\t"))
	}
	return w.Flush()
}
