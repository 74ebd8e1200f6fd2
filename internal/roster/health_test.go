package roster

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// Every kind of probe is kept by the wire and by the file.
func TestAppHealthTravels(t *testing.T) {
	for name, want := range map[string]AppHealth{
		"none":    {},
		"session": {Handler: Session},
		"http": {
			Handler:          HTTPGet,
			Port:             8080,
			Path:             "/healthz?deep=1",
			Period:           time.Second,
			Timeout:          time.Second,
			FailureThreshold: 2,
			SuccessThreshold: 10,
		},
		"https": {
			Handler:          HTTPSGet,
			Port:             8443,
			Path:             "/healthz",
			Period:           time.Second,
			Timeout:          time.Second,
			FailureThreshold: 2,
			SuccessThreshold: 10,
		},
		"tcp": {
			Handler:          TCPSocket,
			Port:             65535,
			Period:           5 * time.Minute,
			Timeout:          5 * time.Minute,
			FailureThreshold: 100,
			SuccessThreshold: 100,
		},
		"grpc": {
			Handler:          GRPC,
			Port:             1,
			Period:           time.Second,
			Timeout:          2 * time.Second,
			FailureThreshold: 1,
			SuccessThreshold: 1,
		},
		"service": {
			Handler:          GRPC,
			Port:             9090,
			Service:          "shop.v1.Orders",
			Period:           time.Second,
			Timeout:          time.Second,
			FailureThreshold: 1,
			SuccessThreshold: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := sample(1)
			r.AppHealth = want
			if got, err := rosterFromWire(rosterToWire(r)); err != nil || !got.Equal(r) {
				t.Errorf("by wire: %+v, %v", got.AppHealth, err)
			}
			if got, err := Parse(r.Encode()); err != nil || got.AppHealth != want {
				t.Errorf("by file: %+v, %v", got.AppHealth, err)
			}
		})
	}
	if text := string(sample(1).Encode()); strings.Contains(text, "appHealth") {
		t.Errorf("an app that is not asked leaves its trace, which would be another digest: %s",
			text)
	}
}

func TestAppHealthInAFile(t *testing.T) {
	r, err := Parse([]byte(`{"group":"lab","appHealth":{"httpGet":{"port":8080}}}`))
	must(t, err)
	want := AppHealth{
		Handler:          HTTPGet,
		Port:             8080,
		Path:             "/",
		Period:           HealthPeriod,
		Timeout:          HealthTimeout,
		FailureThreshold: HealthFailureThreshold,
		SuccessThreshold: HealthSuccessThreshold,
	}
	if r.AppHealth != want {
		t.Errorf("got %+v, want %+v", r.AppHealth, want)
	}
	for health, says := range map[string]string{
		`{}`: "exactly one",
		`{"httpGet":{"port":1},"grpc":{"port":1}}`:  "exactly one",
		`{"session":{},"grpc":{"port":1}}`:          "exactly one",
		`{"session":{"port":1}}`:                    "port",
		`{"exec":{"command":["true"]}}`:             "exec",
		`{"httpGet":{"port":1,"host":"192.0.2.1"}}`: "host",
		`{"tcpSocket":{}}`: "port 0: must be between 1 " +
			"and 65535",
		`{"tcpSocket":{"port":65536}}`:                      "port 65536",
		`{"httpGet":{"port":1,"scheme":"https"}}`:           `scheme "https": must be HTTP or HTTPS`,
		`{"httpGet":{"port":1,"path":"healthz"}}`:           "must start with /",
		`{"httpGet":{"port":1,"path":"http://192.0.2.1/"}}`: "must start with /",
		`{"httpGet":{"port":1,"path":"/a b"}}`:              "without spaces",
		`{"httpGet":{"port":1,"path":"/%zz"}}`:              "must start with /",
		`{"grpc":{"port":1,"service":"a b"}}`:               "without spaces",
		`{"tcpSocket":{"port":1},"periodSeconds":0}`: "periodSeconds 0: must be " +
			"between 1 and 300",
		`{"tcpSocket":{"port":1},"periodSeconds":301}`:          "periodSeconds 301",
		`{"tcpSocket":{"port":1},"timeoutSeconds":99999999999}`: "timeoutSeconds",
		`{"tcpSocket":{"port":1},"failureThreshold":0}`: "failureThreshold 0: must be " +
			"between 1 and 100",
		`{"tcpSocket":{"port":1},"successThreshold":101}`: "successThreshold 101",
	} {
		if _, err := Parse([]byte(`{"group":"lab","appHealth":` + health + `}`)); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want an error with %q", health, err, says)
		}
	}
}

// An agent that does not know a newer kind of probe does not probe, and accepts the roster.
func TestAppHealthOfANewerManager(t *testing.T) {
	w := rosterToWire(sample(1))
	w.AppHealth = &rosterpb.AppHealth{PeriodMilliseconds: 1000}
	const newerHandler = 15<<3 | 2 // field 15, with a length
	w.AppHealth.ProtoReflect().SetUnknown([]byte{newerHandler, 0})
	data, err := proto.Marshal(w)
	must(t, err)
	var sent rosterpb.Roster
	must(t, proto.Unmarshal(data, &sent))
	if r, err := rosterFromWire(&sent); err != nil || !r.Equal(sample(1)) {
		t.Errorf("got %+v, %v", r, err)
	}
}
