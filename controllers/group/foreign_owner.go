package group

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// anyOfStatus stands for whatever fields of a status somebody owns.
const anyOfStatus = `{"f:status":{}}`

// GroupFields keeps of a group's managedFields who else owns fields of its status, not which ones:
// this package reads nothing else of them. Usually nobody does, and nothing is kept. It is the
// cache's transform. A group that it has changed before stays as it is, because others may read it
// meanwhile.
func GroupFields(object any) (any, error) {
	group, ok := object.(*v1.ElectionGroup)
	if !ok {
		return nil, fmt.Errorf("a cache of groups got a %T", object)
	}
	var kept []metav1.ManagedFieldsEntry
	changed := false
	for _, entry := range group.ManagedFields {
		if !ownsOurStatus(entry) {
			changed = true
			continue
		}
		if entry.FieldsV1.GetRawString() != anyOfStatus {
			entry.FieldsV1, changed = metav1.NewFieldsV1(anyOfStatus), true
		}
		kept = append(kept, entry)
	}
	if changed {
		group.ManagedFields = kept
	}
	return group, nil
}

// ownsOurStatus reports whether an entry's owner owns fields of the status and is not a manager of
// this project that applied them.
func ownsOurStatus(entry metav1.ManagedFieldsEntry) bool {
	owner := client.FieldOwner(entry.Manager)
	ours := entry.Operation == metav1.ManagedFieldsOperationApply &&
		(owner == rosterOwner || owner == statusOwner)
	if ours || entry.FieldsV1 == nil {
		return false
	}
	var fields struct {
		Status json.RawMessage `json:"f:status"`
	}
	// Fields that cannot be read may be of the status: a write that replaces is right in any case.
	err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields)
	return err != nil || fields.Status != nil
}

// replaceStatus writes a part of the status in a patch that replaces whole lists, to this very
// group (UID) and to this very state of it, which is o.published. It returns the resource version
// that came of it.
//
// It is for a group in whose status somebody else owns fields, because a backup was restored or the
// status was edited. When the manager applies a list without an entry that it applied before, the
// API server keeps what others own of the entry: a member with a name and no UID, for which it
// refuses the whole write, or the row of a process that is gone. A patch overrides all owners. What
// it writes is not owned by applying, so the manager writes such a group by patches from then on.
func (r *Reconciler) replaceStatus(ctx context.Context, o observation, part v1.ElectionGroupStatus,
	version string, owner client.FieldOwner) (string, error) {
	is := &v1.ElectionGroup{}
	is.Namespace, is.Name, is.ResourceVersion = o.group.Namespace, o.group.Name, version
	is.Status = *o.published.DeepCopy()
	wanted := is.DeepCopy()
	wanted.UID = o.group.UID // is has none, so that the patch says it
	if owner == rosterOwner {
		wanted.Status.Roster = part.Roster
	} else {
		part.Roster = wanted.Status.Roster
		wanted.Status = part
	}
	patch := client.MergeFromWithOptions(is, client.MergeFromWithOptimisticLock{})
	// Strict, as applying is: see outdated.
	err := r.Client.Status().Patch(ctx, wanted, patch, owner,
		client.FieldValidation(metav1.FieldValidationStrict))
	return wanted.ResourceVersion, err
}
