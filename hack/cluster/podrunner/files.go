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
	pod     *corev1.Pod
	address string
	objects objects
	// token returns the present token of a projected source.
	token func(source *corev1.ServiceAccountTokenProjection) (string, error)
}

// of is what a volume should contain now. An emptyDir has no content of ours.
func (c content) of(volume corev1.Volume) (files, error) {
	out := make(files)
	var err error
	switch {
	case volume.ConfigMap != nil:
		v := volume.ConfigMap
		err = c.addConfigMap(out, v.Name, v.Items, v.Optional)
	case volume.Secret != nil:
		v := volume.Secret
		err = c.addSecret(out, v.SecretName, v.Items, v.Optional)
	case volume.DownwardAPI != nil:
		err = c.addFields(out, volume.DownwardAPI.Items)
	case volume.Projected != nil:
		for i := range volume.Projected.Sources {
			if err = c.addSource(out, &volume.Projected.Sources[i]); err != nil {
				break
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("volume %s: %w", volume.Name, err)
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
	case source.Secret != nil:
		return c.addSecret(out, source.Secret.Name, source.Secret.Items, source.Secret.Optional)
	case source.DownwardAPI != nil:
		return c.addFields(out, source.DownwardAPI.Items)
	}
	return nil
}

func (c content) addConfigMap(
	out files, name string, items []corev1.KeyToPath, optional *bool,
) error {
	object, found := c.objects.configMap(c.pod.Namespace, name)
	if !found {
		return missing("ConfigMap", name, optional)
	}
	data := asText(object.BinaryData)
	maps.Copy(data, object.Data)
	return out.addKeys(data, "ConfigMap "+name, items, optional)
}

func (c content) addSecret(out files, name string, items []corev1.KeyToPath, optional *bool) error {
	object, found := c.objects.secret(c.pod.Namespace, name)
	if !found {
		return missing("Secret", name, optional)
	}
	return out.addKeys(asText(object.Data), "Secret "+name, items, optional)
}

func (c content) addFields(out files, items []corev1.DownwardAPIVolumeFile) error {
	for _, item := range items {
		// judge has refused what is not supported
		value, _ := fieldValue(c.pod, c.address, item.FieldRef.FieldPath)
		if err := out.add(item.Path, value); err != nil {
			return err
		}
	}
	return nil
}

// addKeys adds the keys that items name, or all.
func (f files) addKeys(
	data map[string]string, where string, items []corev1.KeyToPath, optional *bool,
) error {
	if len(items) == 0 {
		for key, value := range data {
			if err := f.add(key, value); err != nil {
				return err
			}
		}
		return nil
	}
	for _, item := range items {
		value, found := data[item.Key]
		if !found {
			if err := missing("key", item.Key+" in "+where, optional); err != nil {
				return err
			}
			continue
		}
		if err := f.add(item.Path, value); err != nil {
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
