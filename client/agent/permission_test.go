package agent

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/client/internal/boottime"
)

func TestTheZeroPermissionPermitsNothing(t *testing.T) {
	if (Permission{}).Valid() {
		t.Error("it does")
	}
}

// Valid reads the clock when it is called: it is never true after the deadline.
func TestValidEndsAtTheDeadline(t *testing.T) {
	until := reading(t) + 20*time.Millisecond
	p := Permission{Granted: true, until: until}
	yes := 0
	for {
		before := reading(t)
		valid := p.Valid()
		after := reading(t)
		if valid && before >= until {
			t.Fatalf("valid %v after the deadline", before-until)
		}
		if !valid && after < until {
			t.Fatalf("not valid %v before the deadline", until-after)
		}
		if !valid {
			break
		}
		yes++
	}
	if yes == 0 {
		t.Error("it was never valid: nothing was tried")
	}
}

func TestADeadlineIsNeverLaterThanTheAgents(t *testing.T) {
	if !boottime.Shared {
		t.Skip("counted from before the question: nothing to compare")
	}
	const ms = time.Millisecond
	made := span{from: 1000 * ms, to: 1010 * ms} // from the request to the answer, on our clock
	for name, c := range map[string]struct {
		until, remaining time.Duration // the agent's answer
		want             time.Duration // 0: the answer is rejected
	}{
		"made when the question came":         {1800 * ms, 800 * ms, 1800 * ms},
		"made when the answer went":           {1810 * ms, 800 * ms, 1810 * ms},
		"rounded down":                        {1811*ms - 1, 800 * ms, 1811*ms - 1},
		"rounded up":                          {1800*ms - ms/2, 800 * ms, 1800*ms - ms/2},
		"nothing remains":                     {1005 * ms, 0, 1005 * ms},
		"a clock that is ahead of ours":       {1812 * ms, 800 * ms, 0},
		"a clock that is behind ours":         {1798 * ms, 800 * ms, 0},
		"another machine's":                   {time.Hour, 800 * ms, 0},
		"no reading at all":                   {0, 800 * ms, 0},
		"a reading that overflows":            {1<<63 - 1, 800 * ms, 0},
		"a reading that overflows, below":     {-1 << 63, 800 * ms, 0},
		"more remains than leases are long":   {1005*ms + 1000*time.Hour, 1000 * time.Hour, 0},
		"a deadline that has passed, it says": {900 * ms, -100 * ms, 0},
	} {
		t.Run(name, func(t *testing.T) {
			data, _ := json.Marshal(answerJSON{
				MayAct:                      true,
				viewJSON:                    viewJSON{Epoch: 1},
				DeadlineBoottimeNanoseconds: int64(c.until),
				RemainingMilliseconds:       c.remaining.Milliseconds(),
			})
			p, err := permission(data, made)
			if c.want == 0 {
				if !errors.Is(err, ErrForeignClock) || p.Granted || p.Valid() {
					t.Errorf("%+v, %v; want ErrForeignClock", p, err)
				}
				return
			}
			if err != nil || p.until != c.want {
				t.Errorf("until %v, %v; want %v", p.until, err, c.want)
			}
		})
	}
}

// FuzzPermission checks that whatever an agent answers, the permission is not valid for longer than
// the answer says.
func FuzzPermission(f *testing.F) {
	f.Add([]byte(`{"name":"a","self":"a","mayAct":true,"epoch":1,
		"deadlineBoottimeNanoseconds":5000000000,"remainingMilliseconds":500}`))
	f.Add([]byte(`{"mayAct":true}`))
	f.Add([]byte(`{"mayAct":true,"epoch":1,"deadlineBoottimeNanoseconds":-9223372036854775808,
		"remainingMilliseconds":9223372036854775807}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		made := span{from: 4 * time.Second, to: 5 * time.Second}
		p, err := permission(data, made)
		if err != nil && (p.Granted || p.until != 0) {
			t.Fatalf("an error, and yet %+v", p)
		}
		if p.until > made.to+maxRemaining+rounding {
			t.Fatalf("until %v", p.until)
		}
	})
}

// An app that cannot read its clock may not act: it cannot know when its permission ends.
func TestNothingIsPermittedWithoutAClock(t *testing.T) {
	p := Permission{Granted: true, View: View{Epoch: 1}, until: time.Hour}
	if left := p.remainingAt(0, errors.ErrUnsupported); left != 0 {
		t.Errorf("%v are left without a clock", left)
	}
	if left := p.remainingAt(time.Hour-time.Second, nil); left != time.Second {
		t.Errorf("%v are left a second before the deadline", left)
	}
}
