package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/history"
)

// The app as a pod runs it, one that polls by its UID: its trace is in the file, and the checker can read it.
func TestWrite(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"epoch":5,"mayAct":true,"deadlineBoottimeNanoseconds":%d}`, register.Now()+1e9)
	}))
	defer agent.Close()
	var log bytes.Buffer
	store := httptest.NewServer(register.New(&log, func(register.Entry) { cancel() })) // one write will do
	trace := filepath.Join(t.TempDir(), "traces", "g-0.jsonl")
	command := newCommand()
	command.SetArgs([]string{"write", "--agent", agent.URL, "--register", store.URL, "--group", "g", "--process", "g-0", "--uid", "v", "--trace", trace})
	if err := command.ExecuteContext(ctx); err != nil {
		t.Fatal(err)
	}
	store.Close() // after this nobody writes its log
	file, err := os.Open(trace)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	h := history.History{End: register.Now()}
	if h.Lives, err = history.ReadTrace(file); err != nil {
		t.Fatal(err)
	}
	if h.Entries, err = history.ReadEntries(&log); err != nil {
		t.Fatal(err)
	}
	if r := h.Guarded("g"); len(r.Violations) > 0 || r.Told == 0 || r.Writes.Accepted == 0 {
		t.Errorf("%+v", r)
	}
}
