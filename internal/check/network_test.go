package check

import (
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// TestNetworkPolicies: what keeps the agents of a group in namespace shop from what they need.
func TestNetworkPolicies(t *testing.T) {
	const links, manager, dns = "links", "manager", "DNS"
	for name, test := range map[string]struct {
		spec string // of a policy; several are separated by ---
		want string // what is blocked
	}{
		"none":                   {"", ""},
		"of other pods":          {"podSelector: {matchLabels: {app: other}}\npolicyTypes: [Ingress, Egress]", ""},
		"nothing comes in":       {"podSelector: {}", links},
		"nothing goes out":       {"podSelector: {}\npolicyTypes: [Egress]", "links manager DNS"},
		"egress without a type":  {"podSelector: {}\ningress: [{}]\negress: [{ports: [{port: 4041}]}]", "manager DNS"},
		"all of the namespace":   {"podSelector: {}\ningress: [{from: [{podSelector: {}}]}]", ""},
		"all of another one":     {"podSelector: {}\ningress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: other}}}]}]", links},
		"a namespace by a label": {"podSelector: {}\ningress: [{from: [{namespaceSelector: {matchLabels: {team: a}}}]}]", ""},
		"by expressions":         {"podSelector: {}\ningress: [{from: [{namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [shop]}]}}]}]", links},
		"other pods may come":    {"podSelector: {}\ningress: [{from: [{podSelector: {matchLabels: {app: other}}}]}]", links},
		"an address":             {"podSelector: {}\ningress: [{from: [{ipBlock: {cidr: 10.0.0.0/8}}]}]", ""},
		"another port":           {"podSelector: {}\ningress: [{ports: [{port: 80}]}]", links},
		"a range":                {"podSelector: {}\ningress: [{ports: [{port: 4000, endPort: 4100}]}]", ""},
		"a range below":          {"podSelector: {}\ningress: [{ports: [{port: 4000, endPort: 4040}]}]", links},
		"a named port":           {"podSelector: {}\ningress: [{ports: [{port: podesta-link}]}]", ""},
		"another named port":     {"podSelector: {}\ningress: [{ports: [{port: podesta-status}]}]", links},
		"UDP":                    {"podSelector: {}\ningress: [{ports: [{port: 4041, protocol: UDP}]}]", links},
		"all ports of TCP":       {"podSelector: {}\ningress: [{ports: [{protocol: TCP}]}]", ""},
		"two that add up":        {"podSelector: {}\n---\npodSelector: {}\ningress: [{ports: [{port: 4041}]}]", ""},
		"DNS on another port":    {"podSelector: {}\npolicyTypes: [Egress]\negress: [{ports: [{port: 5353, protocol: UDP}]}]", "links manager"},
		"the manager alone": {"podSelector: {}\npolicyTypes: [Egress]\negress: [{to: [{namespaceSelector: {matchLabels: " +
			"{kubernetes.io/metadata.name: podesta-system}}, podSelector: {matchLabels: {app.kubernetes.io/component: manager}}}], " +
			"ports: [{port: 9443}]}]", "links DNS"},
	} {
		t.Run(name, func(t *testing.T) {
			f := well(t)
			n := &f.Namespaces.Value[0]
			n.Policies.Value = nil
			for spec := range strings.SplitSeq(test.spec, "---\n") {
				if spec == "" {
					continue
				}
				p := networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}}
				if err := yaml.UnmarshalStrict([]byte(spec), &p.Spec); err != nil {
					t.Fatal(err)
				}
				n.Policies.Value = append(n.Policies.Value, p)
			}
			got := strings.Join(bad(Installed(f)), "\n")
			var blocked []string
			for _, what := range []string{links, manager, dns} {
				if strings.Contains(got, what+" (") {
					blocked = append(blocked, what)
				}
			}
			if said := strings.Join(blocked, " "); said != test.want || (got == "") != (test.want == "") {
				t.Errorf("blocks %q, want %q\n%s", said, test.want, got)
			}
		})
	}
}
