package podrunner

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestSubstitution(t *testing.T) {
	c := corev1.Container{VolumeMounts: []corev1.VolumeMount{
		{Name: "run", MountPath: "/var/run"},
		{Name: "token", MountPath: "/var/run/token/"},
	}}
	rules := rulesFor(c, func(volume string) string { return "/real/" + volume }, "127.64.0.7", map[string]string{
		"roster.system.svc:9443": "127.0.0.1:9443",
		"db.shop.svc":            "127.0.0.1",
	})
	for name, tc := range map[string]struct{ text, want string }{
		"a mount path":                           {"--dir=/var/run", "--dir=/real/run"},
		"a path below it":                        {"/var/run/a.pem", "/real/run/a.pem"},
		"the deeper mount wins":                  {"/var/run/token/t", "/real/token/t"},
		"two in one word":                        {"/var/run:/var/run/token", "/real/run:/real/token"},
		"in a URL":                               {"file:///var/run/a", "file:///real/run/a"},
		"a longer name is another path":          {"/var/run.old /var/runner", "/var/run.old /var/runner"},
		"a path that only ends like it":          {"/my/var/run", "/my/var/run"},
		"its own host":                           {"--listen=127.0.0.1:4040", "--listen=127.64.0.7:4040"},
		"its own host by name":                   {"http://localhost:4040/", "http://127.64.0.7:4040/"},
		"all of its addresses":                   {"0.0.0.0:80", "127.64.0.7:80"},
		"another address":                        {"10.127.0.0.1 127.0.0.10", "10.127.0.0.1 127.0.0.10"},
		"a host that is resolved":                {"tcp://db.shop.svc/x", "tcp://127.0.0.1/x"},
		"a host resolved with its port":          {"--manager=roster.system.svc:9443", "--manager=127.0.0.1:9443"},
		"that host without the port stays":       {"--name=roster.system.svc", "--name=roster.system.svc"},
		"a longer host is another":               {"my.db.shop.svc db.shop.svc.cluster", "my.db.shop.svc db.shop.svc.cluster"},
		"a resolved host is not looked at again": {"db.shop.svc 127.0.0.1", "127.0.0.1 127.64.0.7"},
		"nothing":                                {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := substitute(tc.text, rules); got != tc.want {
				t.Errorf("substitute(%q) = %q, want %q", tc.text, got, tc.want)
			}
		})
	}
}

func TestExpansionOfVariables(t *testing.T) {
	env := map[string]string{"A": "1", "B": "$(A)"}
	for text, want := range map[string]string{
		"$(A)":         "1",
		"x$(A)$(A)y":   "x11y",
		"$(B)":         "$(A)", // a value is not expanded again
		"$(MISSING)":   "$(MISSING)",
		"$$(A)":        "$(A)",
		"$A $ $(A $()": "$A $ $(A $()",
		"cost: 5$":     "cost: 5$",
		"$(no)$(A)":    "$(no)1",
	} {
		if got := expand(text, env); got != want {
			t.Errorf("expand(%q) = %q, want %q", text, got, want)
		}
	}
}
