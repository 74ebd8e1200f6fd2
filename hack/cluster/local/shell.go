package local

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Shell returns what to type in another terminal to use the cluster: an export of KUBECONFIG and of
// a PATH with the plugin and a kubectl that is there, and a remark for each of them that is not.
// Plugins is the directory of kubectl-election.
func (c *Cluster) Shell(plugins string) string {
	var remarks, path []string
	plugins, err := filepath.Abs(plugins)
	if err == nil && isProgram(filepath.Join(plugins, "kubectl-election")) {
		path = append(path, quoted(plugins))
	} else {
		remarks = append(remarks, "# kubectl election is not built: make build")
	}
	_, err = exec.LookPath("kubectl")
	switch {
	case isProgram(filepath.Join(c.Bin, "kubectl")):
		path = append(path, quoted(c.Bin))
	case err != nil:
		remarks = append(remarks, "# There is no kubectl here. kubectl-election works without one. "+
			"To build one, in about 4 minutes:\n"+`# PATH=$(bin/cluster assets --programs kubectl):$PATH`)
	}
	export := "export KUBECONFIG=" + quoted(c.Kubeconfig)
	if len(path) > 0 {
		export += " PATH=" + strings.Join(path, ":") + ":$PATH"
	}
	return strings.Join(append([]string{export}, remarks...), "\n") + "\n"
}

// quoted returns a path as a shell reads it.
func quoted(path string) string {
	if strings.ContainsAny(path, " '\"$`\\&;()<>|*?") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir() && info.Mode()&0o111 != 0
}
