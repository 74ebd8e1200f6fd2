package fence

import (
	"bytes"
	"errors"
	"maps"
	"net/http"
)

// errLong is what the protected handler gets when its response passes the bound.
var errLong = errors.New("the response is longer than fence.Handler's MaxBytes")

// answer keeps the response of a handler until the gate has been left.
type answer struct {
	header http.Header
	status int
	sent   bool // the status has been written
	body   bytes.Buffer
	left   int64 // bytes that the body may still grow by
	long   bool
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.sent || status < http.StatusOK { // the first counts; interim ones are not passed on
		return
	}
	a.status, a.sent = status, true
}

func (a *answer) Write(data []byte) (int, error) {
	a.sent = true
	if int64(len(data)) > a.left {
		a.long = true
		return 0, errLong
	}
	a.left -= int64(len(data))
	return a.body.Write(data)
}

func (a *answer) send(w http.ResponseWriter) {
	if a.long {
		f := &refusal{
			status: http.StatusInternalServerError,
			Error:  errLong.Error() + "; the request may have had its effect",
		}
		f.write(w)
		return
	}
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body.Bytes()) // if it fails, the client has gone
}
