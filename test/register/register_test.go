package register

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func put(t *testing.T, r http.Handler, body string) (status int, e Entry) {
	t.Helper()
	answer := httptest.NewRecorder()
	r.ServeHTTP(answer, httptest.NewRequest(http.MethodPut, "/", strings.NewReader(body)))
	if answer.Code == http.StatusOK || answer.Code == http.StatusConflict {
		if err := json.Unmarshal(answer.Body.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
	}
	return answer.Code, e
}

// A register goes forward with the epochs, refuses one that is behind, and knows nothing of other
// groups' epochs.
func TestAStaleEpochIsRefused(t *testing.T) {
	var log bytes.Buffer
	var watched []Entry
	r := New(&log, func(e Entry) { watched = append(watched, e) })
	steps := []struct {
		body   string
		status int
	}{
		{`{"group":"a","process":"p1","epoch":7}`, 200},
		{`{"group":"a","process":"p1","epoch":7}`, 200},
		{`{"group":"a","process":"p2","epoch":9}`, 200},
		{`{"group":"a","process":"p1","epoch":7,"careless":true}`, 409},
		{`{"group":"b","process":"p1","epoch":7}`, 200},
		{`{"group":"a","process":"p2","epoch":9}`, 200},
		{`{"group":"classic","process":"p1"}`, 200},
		{`{"group":"classic","process":"p2"}`, 200},
	}
	for i, step := range steps {
		status, e := put(t, r, step.body)
		if status != step.status || e.Accepted != (status == http.StatusOK) {
			t.Errorf("step %d, %s: answered %d, accepted %v; want %d", i, step.body, status, e.Accepted, step.status)
		}
	}
	if len(watched) != len(steps) {
		t.Fatalf("%d entries for %d writes", len(watched), len(steps))
	}
	lines := strings.SplitAfter(log.String(), "\n")
	if len(lines) != len(steps)+1 || lines[len(steps)] != "" {
		t.Fatalf("the log of %d writes is\n%s", len(steps), log.String())
	}
	for i, line := range lines[:len(steps)] {
		var e Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil || e != watched[i] {
			t.Errorf("line %d of the log, %s, is not what was watched: %+v (%v)", i, line, watched[i], err)
		}
		if i > 0 && e.At < watched[i-1].At {
			t.Errorf("line %d is dated before line %d", i, i-1)
		}
	}
}

func TestWhatIsNoWriteIsRefused(t *testing.T) {
	r := New(&bytes.Buffer{}, nil)
	for _, body := range []string{
		``, `{`, `{"group":"a"}`, `{"process":"p"}`, `{"group":"a","process":"p","epoch":-1}`, `{"group":"a","process":"p","colour":1}`,
		`{"group":"` + strings.Repeat("a", maxBody) + `","process":"p"}`,
	} {
		if status, _ := put(t, r, body); status != http.StatusBadRequest {
			t.Errorf("%.60q: answered %d", body, status)
		}
	}
	answer := httptest.NewRecorder()
	r.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
	if answer.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET: answered %d", answer.Code)
	}
}

type fullDisk struct{ error }

func (d fullDisk) Write([]byte) (int, error) { return 0, d.error }

// What could not be logged has not happened: the epoch of such a write fences nobody.
func TestAWriteThatCannotBeLoggedIsNotTaken(t *testing.T) {
	r := New(fullDisk{errors.New("disk full")}, nil)
	if status, _ := put(t, r, `{"group":"a","process":"p","epoch":9}`); status != http.StatusInternalServerError {
		t.Errorf("answered %d", status)
	}
	r.log = &bytes.Buffer{}
	if status, _ := put(t, r, `{"group":"a","process":"p","epoch":7}`); status != http.StatusOK {
		t.Errorf("epoch 7 is refused after a write of epoch 9 that was not logged: %d", status)
	}
}
