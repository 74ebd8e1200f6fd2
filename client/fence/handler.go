package fence

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// Header carries the epoch of a request. In an answer 412 it is the highest epoch that the resource has seen.
const Header = "Podesta-Epoch"

// defaultMaxBytes bounds requests and answers, unless Handler says otherwise.
const defaultMaxBytes = 1 << 20

// Handler lets a request through to Next only with an epoch that its gate admits, and runs Next under Gate.DoContext, with
// the epoch in the request's context (EpochOf). Put it before what writes; what only reads needs no fence.
//
// The request is read before the gate is entered and the answer sent after it was left, so that a client which pauses half
// way keeps nobody waiting; hence the bound on both, and no streaming. Refusals are a sentence in JSON:
//
//   - 412 Precondition Failed: a stale epoch. The epoch is a condition that the request carries ("only if nothing higher was
//     seen"), it is false, and nothing was done (RFC 9110 §15.5.13). Not 409, which invites to resolve and send again, nor
//     403, which blames who asks. CheckResponse makes a *StaleError of it.
//   - 428 Precondition Required: no epoch (RFC 6585 §3).
//   - 400: no epoch that can be read, or several. 413: the request is longer than MaxBytes.
//   - 503: the epoch could not be kept on disk, or the wait for effects of a lower epoch was given up: nothing was done.
//   - 500: Next's answer is longer than MaxBytes; what it did is done.
type Handler struct {
	Gate *Gate
	Next http.Handler
	// MaxBytes bounds the body of a request and of an answer; 0 is 1 MiB.
	MaxBytes int64
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	epoch, refused := requestEpoch(r)
	if refused == nil && epoch < h.Gate.Seen() { // known before the body is read; DoContext decides
		refused = refuse(&StaleError{Epoch: epoch, Seen: h.Gate.Seen()})
	}
	if refused != nil {
		refused.write(w)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.maxBytes()))
	if err != nil {
		unreadable(err).write(w)
		return
	}
	r = r.WithContext(WithEpoch(r.Context(), epoch))
	r.Body = io.NopCloser(bytes.NewReader(body))
	given := &answer{header: http.Header{}, status: http.StatusOK, left: h.maxBytes()}
	err = h.Gate.DoContext(r.Context(), epoch, func() error {
		h.Next.ServeHTTP(given, r)
		return nil
	})
	if err != nil {
		refuse(err).write(w)
		return
	}
	given.send(w)
}

func (h *Handler) maxBytes() int64 {
	if h.MaxBytes > 0 {
		return h.MaxBytes
	}
	return defaultMaxBytes
}

// requestEpoch is the one epoch that a request carries.
func requestEpoch(r *http.Request) (int64, *refusal) {
	values := r.Header.Values(Header)
	switch len(values) {
	case 0:
		return 0, &refusal{status: http.StatusPreconditionRequired,
			Error: fmt.Sprintf("send the epoch under which you act in the header %s", Header)}
	case 1:
		epoch, err := parse(values[0])
		if err != nil {
			return 0, refuse(err)
		}
		return epoch, nil
	default:
		return 0, &refusal{status: http.StatusBadRequest, Error: fmt.Sprintf("send one %s, not %d", Header, len(values))}
	}
}

// refusal is an answer to a request that did nothing.
type refusal struct {
	status int
	Error  string `json:"error"`
	Epoch  int64  `json:"epoch,omitempty"`
	Seen   int64  `json:"seen,omitempty"`
}

// refuse says why the gate did not admit.
func refuse(err error) *refusal {
	if stale, ok := errors.AsType[*StaleError](err); ok {
		return &refusal{status: http.StatusPreconditionFailed, Error: err.Error(), Epoch: stale.Epoch, Seen: stale.Seen}
	}
	if errors.Is(err, ErrNoEpoch) {
		return &refusal{status: http.StatusBadRequest, Error: err.Error()}
	}
	return &refusal{status: http.StatusServiceUnavailable, Error: err.Error() + "; nothing was done, try again"}
}

func unreadable(err error) *refusal {
	if long, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &refusal{status: http.StatusRequestEntityTooLarge, Error: fmt.Sprintf("send %d bytes at most", long.Limit)}
	}
	return &refusal{status: http.StatusBadRequest, Error: "the request could not be read whole: " + err.Error()}
}

func (f *refusal) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if f.Seen != 0 {
		w.Header().Set(Header, strconv.FormatInt(f.Seen, 10))
	}
	w.WriteHeader(f.status)
	_ = json.NewEncoder(w).Encode(f) // the client has gone: nothing to tell it
}
