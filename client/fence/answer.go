package fence

import (
	"bytes"
	"errors"
	"maps"
	"net/http"
)

// errLong is what the protected handler is told when its answer passes the bound.
var errLong = errors.New("the answer is longer than fence.Handler's MaxBytes")

// answer keeps what a handler says until the gate has been left.
type answer struct {
	header http.Header
	status int
	said   bool // the status is
	body   bytes.Buffer
	left   int64 // bytes that the body may still grow by
	long   bool
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.said || status < http.StatusOK { // what is said first counts; hints before the answer are not passed on
		return
	}
	a.status, a.said = status, true
}

func (a *answer) Write(data []byte) (int, error) {
	a.said = true
	if int64(len(data)) > a.left {
		a.long = true
		return 0, errLong
	}
	a.left -= int64(len(data))
	return a.body.Write(data)
}

func (a *answer) send(w http.ResponseWriter) {
	if a.long {
		(&refusal{status: http.StatusInternalServerError, Error: errLong.Error() + "; what was asked for may be done"}).write(w)
		return
	}
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body.Bytes()) // the client has gone: nothing to tell it
}
