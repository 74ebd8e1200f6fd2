package agentserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster"
)

// The extra fields by which a TokenReview names the pod that a token is bound to.
const (
	extraPodName = "authentication.kubernetes.io/pod-name"
	extraPodUID  = "authentication.kubernetes.io/pod-uid"
)

// needsToken says what to do about a token that is refused.
const needsToken = "the agent needs a ServiceAccount token with that audience, " +
	"projected into its own pod"

// Admission admits pods that carry a group's label, by a token that is bound to them. It is a
// roster.Admission.
type Admission struct {
	Client client.Client // creates TokenReviews
	Live   client.Reader // asks the API server
	Cached client.Reader // has the pods with the label of a group
}

// Admit reviews a token: it must be for our audience and bound to a pod that may join.
func (a *Admission) Admit(ctx context.Context, token string) (identity.Name, error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token,
		Audiences: []string{v1.Audience}}}
	if err := a.Client.Create(ctx, review); err != nil {
		return identity.Name{}, fmt.Errorf("review the token: %w", err)
	}
	namespace, pod, uid, err := bearer(review.Status)
	if err != nil {
		return identity.Name{}, err
	}
	name := identity.Name{
		Namespace: namespace,
		Pod:       pod,
		UID:       uid,
	}
	name.Group, err = a.groupOf(ctx, name)
	return name, err
}

// Readmit decides whether a pod gets another certificate: it must still be what its certificate
// says.
func (a *Admission) Readmit(ctx context.Context, name identity.Name) error {
	group, err := a.groupOf(ctx, name)
	if err != nil {
		return err
	}
	if group != name.Group {
		return roster.Moved(
			"pod %s/%s belongs to group %q now, but its certificate is for %q: join again with "+
				"the token", name.Namespace, name.Pod, group, name.Group)
	}
	return nil
}

// Present looks for a pod in the cache. If the cache fails, it reports true.
func (a *Admission) Present(name identity.Name) bool {
	pod := &corev1.Pod{}
	key := types.NamespacedName{Namespace: name.Namespace, Name: name.Pod}
	err := a.Cached.Get(context.Background(), key, pod)
	if err != nil {
		return !apierrors.IsNotFound(err)
	}
	return string(pod.UID) == name.UID && pod.Labels[v1.GroupLabel] != ""
}

// Claims returns the namespace that the token of a ServiceAccount names in its subject.
func (*Admission) Claims(token string) (namespace string) {
	_, rest, _ := strings.Cut(token, ".")
	claims, _, _ := strings.Cut(rest, ".")
	data, err := base64.RawURLEncoding.DecodeString(claims)
	subject := struct {
		Sub string `json:"sub"`
	}{}
	if err != nil || json.Unmarshal(data, &subject) != nil {
		return ""
	}
	namespace, _ = namespaceOf(subject.Sub)
	return namespace
}

// namespaceOf returns the namespace of a ServiceAccount.
func namespaceOf(user string) (namespace string, ok bool) {
	account, ok := strings.CutPrefix(user, "system:serviceaccount:")
	if !ok {
		return "", false
	}
	namespace, _, ok = strings.Cut(account, ":")
	return namespace, ok
}

// bearer returns the pod that a reviewed token is bound to.
func bearer(s authenticationv1.TokenReviewStatus) (namespace, pod, uid string, err error) {
	if !s.Authenticated {
		return "", "", "", roster.Refuse("the token is not valid for audience %s (%s): "+needsToken,
			v1.Audience, s.Error)
	}
	if !slices.Contains(s.Audiences, v1.Audience) {
		return "", "", "", roster.Refuse("the token is not for audience %s: "+needsToken,
			v1.Audience)
	}
	namespace, ok := namespaceOf(s.User.Username)
	if !ok {
		return "", "", "", roster.Refuse("the token belongs to %s, which is not a ServiceAccount",
			s.User.Username)
	}
	pods, uids := s.User.Extra[extraPodName], s.User.Extra[extraPodUID]
	if len(pods) != 1 || len(uids) != 1 {
		return "", "", "", roster.Refuse("the token of %s is not bound to a pod: "+needsToken,
			s.User.Username)
	}
	return namespace, pods[0], uids[0], nil
}

// groupOf returns the group of this very pod, if it may join it. It is read from the API server,
// not from a cache: a manager with a stale cache must not certify a pod that another one has found
// missing (MC5 in internal/membership counts from there), or one that has left its group.
func (a *Admission) groupOf(ctx context.Context, name identity.Name) (string, error) {
	key := types.NamespacedName{Namespace: name.Namespace, Name: name.Pod}
	pod := &corev1.Pod{}
	err := a.Live.Get(ctx, key, pod)
	if apierrors.IsNotFound(err) {
		return "", roster.Refuse("pod %s does not exist", key)
	}
	if err != nil {
		return "", fmt.Errorf("read pod %s: %w", key, err)
	}
	return admissible(pod, name.UID)
}

// admissible returns the group that a pod may join, or why there is none.
func admissible(pod *corev1.Pod, uid string) (group string, err error) {
	key := pod.Namespace + "/" + pod.Name
	switch {
	case string(pod.UID) != uid:
		return "", roster.Refuse("pod %s was replaced: its UID is %s, not %s", key, pod.UID, uid)
	case pod.Labels[v1.GroupLabel] == "":
		return "", roster.Refuse("pod %s has no label %s: add it to the pod template", key,
			v1.GroupLabel)
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		return "", roster.Refuse("pod %s has ended (%s)", key, pod.Status.Phase)
	}
	return pod.Labels[v1.GroupLabel], nil
}
