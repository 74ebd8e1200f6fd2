package podrunner

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// files are a volume's content, by path below its directory.
type files map[string]string

// content is what the files of a volume are made from.
type content struct {
	pod       *corev1.Pod
	address   string
	configMap func(name string) (data map[string]string, found bool)
	// token returns the present token of a projected source.
	token func(source *corev1.ServiceAccountTokenProjection) (string, error)
}

// of is what a volume should contain now. An emptyDir has no content of ours.
func (c content) of(volume corev1.Volume) (files, error) {
	out := make(files)
	if v := volume.ConfigMap; v != nil {
		return out, c.addConfigMap(out, v.Name, v.Items, v.Optional)
	}
	if volume.Projected == nil {
		return out, nil
	}
	for i := range volume.Projected.Sources {
		if err := c.addSource(out, &volume.Projected.Sources[i]); err != nil {
			return nil, fmt.Errorf("volume %s: %w", volume.Name, err)
		}
	}
	return out, nil
}

func (c content) addSource(out files, source *corev1.VolumeProjection) error {
	switch {
	case source.ServiceAccountToken != nil:
		token, err := c.token(source.ServiceAccountToken)
		if err != nil {
			return err
		}
		return out.add(source.ServiceAccountToken.Path, token)
	case source.ConfigMap != nil:
		return c.addConfigMap(out, source.ConfigMap.Name, source.ConfigMap.Items,
			source.ConfigMap.Optional)
	case source.DownwardAPI != nil:
		for _, item := range source.DownwardAPI.Items {
			if item.FieldRef == nil {
				continue
			}
			value := fieldValue(c.pod, c.address, item.FieldRef.FieldPath)
			if err := out.add(item.Path, value); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c content) addConfigMap(
	out files, name string, items []corev1.KeyToPath, optional *bool,
) error {
	data, found := c.configMap(name)
	mayMiss := optional != nil && *optional
	if !found && !mayMiss {
		return fmt.Errorf("there is no ConfigMap %s in the pod's namespace", name)
	}
	if len(items) == 0 {
		maps.Copy(out, data)
		return nil
	}
	for _, item := range items {
		value, found := data[item.Key]
		if !found && mayMiss {
			continue
		}
		if !found {
			return fmt.Errorf("ConfigMap %s has no key %s", name, item.Key)
		}
		if err := out.add(item.Path, value); err != nil {
			return err
		}
	}
	return nil
}

// add takes only paths that stay inside the volume.
func (f files) add(path, value string) error {
	if !filepath.IsLocal(path) || strings.HasPrefix(path, "..") {
		return fmt.Errorf("the path %q leads out of the volume", path)
	}
	f[filepath.Clean(path)] = value
	return nil
}
