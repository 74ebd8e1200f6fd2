package group

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MC5: the deletion of a pod began its grace period before its deletionTimestamp. What an agent
// says between the two is its last word.
func TestWhenTheDeletionOfAPodBegan(t *testing.T) {
	s := voting(3)
	pod := s.pods[2]
	if p := podFact(pod, &s.group.Spec, nil); !p.DeletionBegan.IsZero() || !p.DeletionDue.IsZero() {
		t.Errorf("it is not being deleted: %+v", p)
	}
	due := metav1.NewTime(s.now.Add(30 * time.Second))
	pod.DeletionTimestamp = &due
	for grace, began := range map[int64]time.Time{0: due.Time, 30: s.now} {
		pod.DeletionGracePeriodSeconds = &grace
		p := podFact(pod, &s.group.Spec, nil)
		if !p.DeletionBegan.Equal(began) || !p.DeletionDue.Equal(due.Time) {
			t.Errorf("grace %d s: began at %v, due at %v", grace, p.DeletionBegan, p.DeletionDue)
		}
	}
}
