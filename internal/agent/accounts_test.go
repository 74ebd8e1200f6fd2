package agent

import (
	"encoding/json"
	"flag"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
	"github.com/podesta-dev/podesta/internal/trace"
)

var rewrite = flag.Bool("rewrite", false, "write the goldens in testdata again")

// fetch is what GET /v1/elections answers, as text.
func fetch(t *testing.T, told *Accounts) string {
	t.Helper()
	ledger := NewLedger(MachineClocks{})
	w := httptest.NewRecorder()
	AppAPI(NewViews(), ledger, told, slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(),
		http.MethodGet, "/v1/elections", nil))
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("it answers %d %v: %s", w.Code, w.Header(), w.Body)
	}
	if ledger.open() != 0 || ledger.told() != 0 || ledger.deserted() {
		t.Error("to ask for accounts has opened a session, or permitted something")
	}
	return w.Body.String()
}

// TestAccountsGolden is the format of GET /v1/elections: programs read it.
func TestAccountsGolden(t *testing.T) {
	told := NewAccounts()
	told.run("scheduler-3", 1763700000123)()
	told.belong("scheduler", "Bully")
	told.add(&node.Account{
		Account: election.Account{
			Decision:  election.ID{Initiator: "scheduler-3", Incarnation: 1763700000123, Sequence: 4},
			Initiator: "scheduler-1",
			Reason:    election.CoordinatorUnreachable,
		},
		Number:      4,
		Begun:       time.Hour,
		Coordinator: "scheduler-3",
		Duration:    1003*time.Millisecond + 417*time.Microsecond,
		Epoch:       lease.NewEpoch(27996650, 2),
		Omitted:     1,
		Messages: []node.Exchange{{
			At:          time.Hour + 312*time.Microsecond,
			From:        "scheduler-1",
			To:          "scheduler-3",
			Incarnation: 1763700000077,
			Sequence:    19,
			Kind:        election.Election,
			Process:     "scheduler-1",
		}, {
			At:          time.Hour + 344*time.Microsecond,
			From:        "scheduler-3",
			To:          "scheduler-1",
			Incarnation: 1763700000123,
			Sequence:    6,
			Kind:        election.OK,
		}},
	}, time.Date(2026, 6, 1, 12, 0, 0, 123456789, time.UTC))

	var body any
	if err := json.Unmarshal([]byte(fetch(t, told)), &body); err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(body, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	file := filepath.Join("testdata", "elections.json")
	if *rewrite {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != string(want) {
		t.Errorf("it answers\n%swant\n%s(-rewrite writes it)", text, want)
	}
}

// Before the first election there is an empty list, which is not null.
func TestNoAccounts(t *testing.T) {
	if said := fetch(t, NewAccounts()); !strings.Contains(said, `"elections":[]`) {
		t.Errorf("it answers %s", said)
	}
}

// long is an account of the longest names and the most messages.
func long(number uint64) *node.Account {
	name := strings.Repeat("\x01", 253)
	a := &node.Account{Number: number, Coordinator: name}
	a.Initiator = name
	for range 64 {
		a.Messages = append(a.Messages, node.Exchange{
			From:        name,
			To:          name,
			Incarnation: 1 << 63,
			Sequence:    1 << 63,
			Kind:        election.Kind(name),
			Process:     name,
		})
	}
	return a
}

// What is kept is bounded in number and in bytes, whatever peers say; the newest is always kept,
// and whoever reads an answer takes the longest that there can be.
func TestAccountsAreBounded(t *testing.T) {
	short := NewAccounts()
	for i := range 2 * maxAccounts {
		short.add(&node.Account{Number: uint64(i)}, time.Now())
	}
	kept := short.told.Elections
	if len(kept) != maxAccounts || kept[0].Number != 2*maxAccounts-1 ||
		kept[maxAccounts-1].Number != maxAccounts {
		t.Errorf("%d accounts are kept, from %d to %d", len(kept), kept[len(kept)-1].Number,
			kept[0].Number)
	}
	told := NewAccounts()
	for i := range 5 {
		a := long(uint64(i))
		a.Late = a.Messages
		told.add(a, time.Now())
	}
	if n := len(told.told.Elections); n != 1 || told.told.Elections[0].Number != 4 {
		t.Errorf("of 5 long accounts %d are kept", n)
	}
	if told.bytes > maxAccountBytes {
		t.Errorf("%d bytes are kept, at most %d are meant", told.bytes, maxAccountBytes)
	}
	told.add(&node.Account{Number: 5, Late: long(0).Messages}, time.Now())
	said := fetch(t, told)
	if _, err := trace.Read(strings.NewReader(said)); err != nil {
		t.Errorf("the longest answer, %d bytes, is not read: %v", len(said), err)
	}
}
