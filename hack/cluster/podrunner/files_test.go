package podrunner

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestVolumesHaveTheFilesTheyShould(t *testing.T) {
	c := content{
		pod: testPod(), address: "127.64.0.7",
		configMap: func(name string) (map[string]string, bool) {
			if name != "trust" {
				return nil, false
			}
			return map[string]string{"ca.crt": "CA", "old.crt": "OLD"}, true
		},
		token: func(s *corev1.ServiceAccountTokenProjection) (string, error) {
			return "token for " + s.Audience, nil
		},
	}
	configMap := func(name string, optional *bool, items ...corev1.KeyToPath) corev1.VolumeSource {
		return corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: name}, Optional: optional, Items: items}}
	}
	for name, tc := range map[string]struct {
		source corev1.VolumeSource
		want   files
		err    string
	}{
		"all of a ConfigMap":        {source: configMap("trust", nil), want: files{"ca.crt": "CA", "old.crt": "OLD"}},
		"one key of it":             {source: configMap("trust", nil, corev1.KeyToPath{Key: "ca.crt", Path: "a/b"}), want: files{"a/b": "CA"}},
		"none yet, and none needed": {source: configMap("later", new(true)), want: files{}},
		"none yet, but one needed":  {source: configMap("later", nil), err: "no ConfigMap later"},
		"a key that is missing":     {source: configMap("trust", nil, corev1.KeyToPath{Key: "x", Path: "x"}), err: "ConfigMap trust has no key x"},
		"a path that leads away":    {source: configMap("trust", nil, corev1.KeyToPath{Key: "ca.crt", Path: "../x"}), err: "out of the volume"},
		"several sources": {source: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: "podesta.dev", Path: "token"}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
				{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}}}},
		}}}, want: files{"token": "token for podesta.dev", "namespace": "shop"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.of(corev1.Volume{Name: "v", VolumeSource: tc.source})
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("error %v, want %q in it", err, tc.err)
				}
				return
			}
			if err != nil || !maps.Equal(got, tc.want) {
				t.Errorf("got %q, %v, want %q", got, err, tc.want)
			}
		})
	}
}

func TestAVolumeFollowsItsContent(t *testing.T) {
	dir := t.TempDir()
	first := files{"a": "1", "b": "1"}
	if err := write(dir, nil, first); err != nil {
		t.Fatal(err)
	}
	if err := write(dir, first, files{"a": "2", "sub/c": "3"}); err != nil {
		t.Fatal(err)
	}
	var found []string
	_ = filepath.WalkDir(dir, func(path string, entry os.DirEntry, _ error) error {
		if !entry.IsDir() {
			text, _ := os.ReadFile(path)
			name, _ := filepath.Rel(dir, path)
			found = append(found, name+"="+string(text))
		}
		return nil
	})
	if got := strings.Join(found, " "); got != "a=2 sub/c=3" {
		t.Errorf("the directory has %q", got)
	}
}
