package transport

import (
	"testing"
)

// The round trip is that of an ELECTION and its OK: Send, Received, Send, Received.
//
//	go test -run - -bench . -benchmem ./internal/transport

func BenchmarkRoundTrip(b *testing.B) {
	for name, begin := range fabrics() {
		b.Run(name, func(b *testing.B) {
			ping, pong := pair(begin(b))
			go func() {
				for e := range pong.Events() {
					if r, ok := e.(Received); ok {
						pong.Send("a", r.Algorithm, 0, r.Message)
					}
				}
			}()
			b.ReportAllocs()
			for b.Loop() {
				ping.Send("b", "Bully", 0, say(1))
				awaitMessage(ping)
			}
		})
	}
}

// BenchmarkOneWay keeps half a queue of messages in transit.
func BenchmarkOneWay(b *testing.B) {
	for name, begin := range fabrics() {
		b.Run(name, func(b *testing.B) {
			from, to := pair(begin(b))
			for range queueLength / 2 {
				from.Send("b", "Bully", 0, say(1))
			}
			b.ReportAllocs()
			for b.Loop() {
				from.Send("b", "Bully", 0, say(1))
				awaitMessage(to)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
			if n := from.Dropped(); n > 0 {
				b.Fatalf("%d messages dropped", n)
			}
		})
	}
}

func fabrics() map[string]func(b *testing.B) fabric {
	return map[string]func(b *testing.B) fabric{
		"TLS": func(b *testing.B) fabric {
			f := newLoopback(b)
			b.Cleanup(f.end)
			return f
		},
		"memory": func(b *testing.B) fabric {
			f := newVirtualNetwork()
			b.Cleanup(f.end)
			return f
		},
	}
}

// pair links two processes in both directions.
func pair(f fabric) (Links, Links) {
	one, other := f.join("a", 1), f.join("b", 1)
	introduce(f, []string{"a", "b"}, one, other)
	awaitUp(one)
	other.Link([]string{"a"})
	awaitUp(other)
	return one, other
}

func awaitUp(links Links) {
	for {
		if _, up := (<-links.Events()).(Up); up {
			return
		}
	}
}

func awaitMessage(links Links) {
	for {
		if _, ok := (<-links.Events()).(Received); ok {
			return
		}
	}
}
