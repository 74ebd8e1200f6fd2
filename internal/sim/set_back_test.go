package sim

import (
	"testing"

	"github.com/podesta-dev/podesta/internal/node"
)

// MC10: the status is set back, and then the certificates of all expire, so nobody uses the newer
// roster any more. They are told the older one, which they must not use. They used to report that
// they do, so no manager found out, and nobody led for ever (L1: Guarded StatusTableBully
// 197400370814223).
func TestSetBackWhileCertificatesExpire(t *testing.T) {
	h := begin(history{algorithm: "Bully", guarded: true, processes: 3})
	h.wait(t, "all follow the highest", h.allAgree)
	older := *h.api.newest()
	h.edit(t, 0, 2)
	h.edit(t, 0, 1) // the same as the older one, so that no manager has a reason to make another
	h.wait(t, "all follow the highest by the next roster", h.allAgree)
	h.restore(older)
	for p := range int32(3) {
		h.step(p, &node.Event{Type: node.Expired})
	}
	h.wait(t, "a manager finds that the status was set back", func() bool {
		return h.managers[h.leader].above > older.node.Generation
	})
	h.calm(t)
}
