package identity

import (
	"crypto/x509"
	"net"
	"net/url"
	"strings"
	"testing"
)

var scheduler2 = Name{
	Namespace: "shop",
	Group:     "scheduler",
	Pod:       "scheduler-2",
	UID:       "6f1c2b1e-0d5a-4a34-9d0c-3a3f3f6d7a10",
}

func TestNameIsReadBackFromItsURI(t *testing.T) {
	const want = "podesta://shop/scheduler/scheduler-2/6f1c2b1e-0d5a-4a34-9d0c-3a3f3f6d7a10"
	if got := scheduler2.String(); got != want {
		t.Errorf("URI = %q, want %q", got, want)
	}
	back, err := ParseName(scheduler2.URI())
	if err != nil || back != scheduler2 {
		t.Errorf("ParseName = %v, %v; want the name that was written", back, err)
	}
}

func TestValidateSaysWhatIsWrong(t *testing.T) {
	for what, tc := range map[string]struct {
		change func(*Name)
		want   string // a part of the error; empty: the name is valid
	}{
		"as it is":          {func(*Name) {}, ""},
		"a dotted pod name": {func(n *Name) { n.Pod = "a.b-0" }, ""},
		"no namespace":      {func(n *Name) { n.Namespace = "" }, "the namespace is empty"},
		"no group":          {func(n *Name) { n.Group = "" }, "the group is empty"},
		"no pod":            {func(n *Name) { n.Pod = "" }, "the pod is empty"},
		"no UID":            {func(n *Name) { n.UID = "" }, "the pod UID is empty"},
		"a slash": {func(n *Name) { n.Group = "a/b" }, "the group \"a/b\" has a " +
			"character"},
		"a capital in the pod": {func(n *Name) { n.Pod = "Scheduler" }, "the pod \"Scheduler\" " +
			"has a character"},
		"the path's parent": {func(n *Name) { n.UID = ".." }, "does not begin with a letter"},
		"a port in the host": {func(n *Name) { n.Namespace = "shop:1" }, "the namespace " +
			"\"shop:1\" has a character"},
		"too long": {
			func(n *Name) { n.Pod = strings.Repeat("a", 254) },
			"254 characters",
		},
		"an escape":              {func(n *Name) { n.UID = "%2e" }, "has a character"},
		"something not in ASCII": {func(n *Name) { n.Pod = "podestà" }, "has a character"},
	} {
		t.Run(what, func(t *testing.T) {
			n := scheduler2
			tc.change(&n)
			err := n.Validate()
			if tc.want == "" && err != nil || tc.want != "" && (err == nil ||
				!strings.Contains(err.Error(), tc.want)) {
				t.Errorf("Validate = %v, want %q", err, tc.want)
			}
		})
	}
}

func TestOnlyTheExactFormNamesAProcess(t *testing.T) {
	for _, uri := range []string{
		"",
		ManagerURI,
		"https://shop/scheduler/scheduler-2/u",
		"podesta://shop/scheduler/scheduler-2",
		"podesta://shop/scheduler/scheduler-2/u/more",
		"podesta://shop/scheduler/scheduler-2/u/",
		"podesta://shop//scheduler-2/u",
		"podesta:///scheduler/scheduler-2/u",
		"podesta://shop:1/scheduler/scheduler-2/u",
		"podesta://me@shop/scheduler/scheduler-2/u",
		"podesta://shop/scheduler/scheduler-2/u?x=1",
		"podesta://shop/scheduler/scheduler-2/u#x",
		"podesta://shop/scheduler/scheduler%2d2/u",
		"podesta:shop/scheduler/scheduler-2/u",
	} {
		u, err := url.Parse(uri)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := ParseName(u); err == nil {
			t.Errorf("ParseName(%q) = %v, want an error", uri, n)
		}
	}
}

func TestACertificateNamesOneProcessAndNothingElse(t *testing.T) {
	uri := scheduler2.URI()
	for what, tc := range map[string]struct {
		certificate x509.Certificate
		ok          bool
	}{
		"one URI":  {x509.Certificate{URIs: []*url.URL{uri}}, true},
		"no name":  {x509.Certificate{}, false},
		"two URIs": {x509.Certificate{URIs: []*url.URL{uri, uri}}, false},
		"a DNS name too": {
			x509.Certificate{URIs: []*url.URL{uri}, DNSNames: []string{"a"}},
			false,
		},
		"an address too": {
			x509.Certificate{URIs: []*url.URL{uri}, IPAddresses: []net.IP{{127, 0, 0, 1}}},
			false,
		},
		"an e-mail too": {
			x509.Certificate{URIs: []*url.URL{uri}, EmailAddresses: []string{"a@b"}},
			false,
		},
		"a DNS name alone": {x509.Certificate{DNSNames: []string{"scheduler-2"}}, false},
	} {
		if _, err := NameOf(&tc.certificate); (err == nil) != tc.ok {
			t.Errorf("%s: NameOf: %v", what, err)
		}
	}
}

// FuzzParseName checks that every accepted name is valid and has one spelling only.
func FuzzParseName(f *testing.F) {
	for _, seed := range []string{
		scheduler2.String(),
		ManagerURI,
		"podesta://a/b/c/%2e",
		"podesta://a/../c/d",
		"",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		u, err := url.Parse(uri)
		if err != nil {
			return
		}
		n, err := ParseName(u)
		if err != nil {
			return
		}
		if err := n.Validate(); err != nil || n.String() != u.String() {
			t.Errorf("%q was read as %q, %v", uri, n, err)
		}
	})
}
