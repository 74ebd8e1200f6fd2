package podrunner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// retryVolumes is how soon a volume is tried again whose token could not be had.
const retryVolumes = time.Second

// volumes keeps the directories of a pod's volumes as they should be. One goroutine, run, owns it.
type volumes struct {
	client  kubernetes.Interface
	dir     string // of all volumes; each has a directory of its name
	pod     *atomic.Pointer[corev1.Pod]
	address string
	// configMap returns the data of a ConfigMap in the pod's namespace, as last seen.
	configMap func(name string) (data map[string]string, found bool)
	poke      <-chan struct{} // something that the content is made from may have changed

	tokens map[*corev1.ServiceAccountTokenProjection]token
	// written is what each volume contains; what is not changed is not written again.
	written map[string]files
}

type token struct {
	value     string
	refreshAt time.Time
}

// run makes the volumes and keeps them up to date until the context ends. Every attempt is reported
// while the first has not succeeded, later on failures only.
func (v *volumes) run(ctx context.Context, report func(error)) {
	v.tokens = make(map[*corev1.ServiceAccountTokenProjection]token)
	v.written = make(map[string]files)
	// a pod's volumes never change; the pointers into them name the tokens
	volumes := v.pod.Load().Spec.Volumes
	for mounted := false; ; {
		next, err := v.sync(ctx, volumes)
		if ctx.Err() != nil {
			return
		}
		if err != nil || !mounted {
			report(err)
		}
		mounted = mounted || err == nil
		var timer <-chan time.Time
		if !next.IsZero() {
			timer = time.After(time.Until(next))
		}
		select {
		case <-ctx.Done():
			return
		case <-v.poke:
		case <-timer:
		}
	}
}

// sync writes what has changed and says when to do so again at the latest.
func (v *volumes) sync(ctx context.Context, volumes []corev1.Volume) (next time.Time, err error) {
	content := content{
		pod:       v.pod.Load(),
		address:   v.address,
		configMap: v.configMap,
	}
	content.token = func(source *corev1.ServiceAccountTokenProjection) (string, error) {
		return v.token(ctx, source)
	}
	var problems []error
	for _, volume := range volumes {
		dir := filepath.Join(v.dir, volume.Name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			problems = append(problems, err)
			continue
		}
		if volume.EmptyDir != nil {
			continue
		}
		want, err := content.of(volume)
		if err == nil {
			err = write(dir, v.written[volume.Name], want)
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		v.written[volume.Name] = want
	}
	for _, t := range v.tokens {
		if next.IsZero() || t.refreshAt.Before(next) {
			next = t.refreshAt
		}
	}
	if retry := time.Now().Add(retryVolumes); len(problems) > 0 &&
		(next.IsZero() || retry.Before(next)) {
		next = retry
	}
	return next, errors.Join(problems...)
}

// token returns the token of a source, a new one from four fifths of its life on.
func (v *volumes) token(
	ctx context.Context, source *corev1.ServiceAccountTokenProjection,
) (string, error) {
	now := time.Now()
	if known, found := v.tokens[source]; found && now.Before(known.refreshAt) {
		return known.value, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	pod := v.pod.Load()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: source.ExpirationSeconds,
		BoundObjectRef: &authenticationv1.BoundObjectReference{
			APIVersion: "v1",
			Kind:       "Pod",
			Name:       pod.Name,
			UID:        pod.UID,
		},
	}}
	if source.Audience != "" {
		request.Spec.Audiences = []string{source.Audience}
	}
	got, err := v.client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx,
		pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("the token of ServiceAccount %s: %w", pod.Spec.ServiceAccountName, err)
	}
	life := got.Status.ExpirationTimestamp.Sub(now)
	v.tokens[source] = token{value: got.Status.Token, refreshAt: now.Add(life * 4 / 5)}
	return got.Status.Token, nil
}

// write brings a volume's directory from one content to another. Each file changes at once, by a
// rename.
func write(dir string, have, want files) error {
	for path, value := range want {
		if before, found := have[path]; found && before == value {
			continue
		}
		place := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
			return err
		}
		temporary := filepath.Join(filepath.Dir(place), ".."+filepath.Base(place)+".new")
		if err := os.WriteFile(temporary, []byte(value), 0o600); err != nil {
			return err
		}
		if err := os.Rename(temporary, place); err != nil {
			return err
		}
	}
	for path := range maps.Keys(have) {
		if _, wanted := want[path]; wanted {
			continue
		}
		if err := os.Remove(filepath.Join(dir, path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
