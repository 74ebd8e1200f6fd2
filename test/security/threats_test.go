package security

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/delimited"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
	"github.com/podesta-dev/podesta/test/envtest"
)

// TestAnotherNamespace: a pod with the same name, group and label in another namespace is of
// another group.
func TestAnotherNamespace(t *testing.T) {
	m := startManager(t, newSystem(t), "")
	shop, evil := newNamespace(t), newNamespace(t)
	victim, intruder := join(t, m, newPod(t, shop, 0)), join(t, m, newPod(t, evil, 0))
	victim.Follows(t)
	intruder.Follows(t)
	if name, _ := intruder.Keyring.Name(); name.Namespace != evil {
		t.Fatalf("the certificate names %s, want namespace %s", name, evil)
	}
	intruder.Look(func() {
		for _, u := range intruder.News {
			if r := u.Roster; r != nil && (r.Namespace != evil || r.Has(victim.Pod.Name, string(victim.Pod.UID))) {
				t.Errorf("it was told the roster of %s: %+v", r.Namespace, r)
			}
		}
	})
	sees(t, shop, func(g *v1.ElectionGroup) bool { return len(g.Status.Processes) == 1 })
	if got := rosterIn(t, shop); len(got) != 1 || got[0].UID != victim.Pod.UID {
		t.Errorf("the roster of %s is %v", shop, got)
	}
}

// TestATokenBuysTheIdentityOfItsPodOnly: what the certificate request asks for does not matter, and
// a token needs no certificate, so neither does another pod's certificate beside it.
func TestATokenBuysTheIdentityOfItsPodOnly(t *testing.T) {
	m := startManager(t, newSystem(t), "")
	namespace := newNamespace(t)
	a := join(t, m, newPod(t, namespace, 0))
	a.Follows(t)
	other := newPod(t, namespace, 1)
	granted, err := ask(t, m, a.Keyring.RosterClient(), server.Token(t, other, v1.Audience, true))
	must(t, err)
	block, _ := pem.Decode(granted.GetCertificate())
	leaf, err := x509.ParseCertificate(block.Bytes)
	must(t, err)
	name, err := identity.NameOf(leaf)
	must(t, err)
	if name.UID != string(other.UID) {
		t.Errorf("by the token of %s the certificate names %s", other.Name, name)
	}
}

// TestACompromisedMemberSpeaksForItselfOnly: it reports whom it likes as the coordinator, with an
// epoch above all. Of a Guarded group the others make the majority.
func TestACompromisedMemberSpeaksForItselfOnly(t *testing.T) {
	m := startManager(t, newSystem(t), "")
	namespace := newNamespace(t)
	must(t, kube.Create(bg, &v1.ElectionGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "guarded"}}))
	pods := make([]*corev1.Pod, 3)
	for i := range pods {
		pods[i] = newPod(t, namespace, i, func(p *corev1.Pod) { p.Labels[v1.GroupLabel] = "guarded" })
	}
	var members []*envtest.Agent
	for _, pod := range pods {
		members = append(members, join(t, m, pod))
	}
	for _, a := range members {
		a.Awaits(t, "three voters", func() bool {
			r := a.Newest()
			return r != nil && voters(*r) == 3
		})
	}
	liar := members[0]
	liar.Change(func() {
		liar.Report.Electing, liar.Report.Coordinator = false, liar.Pod.Name
		liar.Report.Epoch, liar.Report.LeaseState = 1<<53-1, roster.LeaseHolding
	})
	group := sees(t, namespace, func(g *v1.ElectionGroup) bool {
		for _, row := range g.Status.Processes {
			if row.Name == liar.Pod.Name && row.Follows != "" {
				return true // what it says of itself is shown as what it says
			}
		}
		return false
	})
	if group.Status.Coordinator != nil {
		t.Errorf("one liar made %+v the coordinator", group.Status.Coordinator)
	}
}

// TestStaleIdentities: certificates of pods that are gone, were replaced, or have left the group
// buy nothing new.
func TestStaleIdentities(t *testing.T) {
	m := startManager(t, newSystem(t), "")
	namespace := newNamespace(t)
	newGroup(t, namespace, "billing")
	const denied, moved = rosterpb.Refusal_DENIED, rosterpb.Refusal_MOVED
	for i, test := range []struct {
		name    string
		become  func(*corev1.Pod)
		code    rosterpb.Refusal_Code
		renewal string
	}{
		{"a pod that is gone", func(p *corev1.Pod) {
			must(t, kube.Delete(bg, p, client.GracePeriodSeconds(0)))
		}, denied, "does not exist"},
		{"a pod that was replaced under its name", func(p *corev1.Pod) {
			must(t, kube.Delete(bg, p, client.GracePeriodSeconds(0)))
			newPod(t, namespace, 0, func(other *corev1.Pod) { other.Name = p.Name })
		}, denied, "was replaced"},
		{"a pod that has ended", func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodFailed
			must(t, kube.Status().Update(bg, p))
		}, denied, "has ended"},
		{"a pod that has lost its label", func(p *corev1.Pod) { relabel(t, p, "") }, denied, "has no label"},
		{"a pod that was relabelled to another group", func(p *corev1.Pod) {
			relabel(t, p, "billing")
		}, moved, `belongs to group "billing" now`},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := join(t, m, newPod(t, namespace, i))
			a.Follows(t)
			test.become(a.Pod)
			answer, err := ask(t, m, a.Keyring.RosterClient(), "")
			must(t, err)
			if no := answer.GetRefused(); no.GetCode() != test.code || !strings.Contains(no.GetText(), test.renewal) {
				t.Errorf("a renewal: %v, want %v with %q", answer, test.code, test.renewal)
			}
			a.Awaits(t, "that it is not of the group any more", func() bool { return a.News[len(a.News)-1].Gone })
			for _, member := range rosterIn(t, namespace) {
				if member.UID == a.Pod.UID {
					t.Error("it is still on the roster")
				}
			}
		})
	}
}

// TestARelabelledPod: the agent is told that its pod has moved, and ends. Its container, started
// again with nothing but the certificate of the group that the pod was in, is told so at once;
// without it, it takes part in the group of the label.
func TestARelabelledPod(t *testing.T) {
	m := startManager(t, newSystem(t), "")
	namespace := newNamespace(t)
	newGroup(t, namespace, "billing")
	a, stays := join(t, m, newPod(t, namespace, 0)), join(t, m, newPod(t, namespace, 1))
	a.Follows(t)
	stays.Follows(t)
	relabel(t, a.Pod, "billing")
	a.Awaits(t, "Gone", func() bool { return a.News[len(a.News)-1].Gone })
	a.Awaits(t, "that its pod has moved", func() bool { return a.Moved != nil })
	a.Look(func() {
		if !strings.Contains(a.Moved.Error(), `belongs to group "billing" now`) {
			t.Errorf("it ended with %v", a.Moved)
		}
	})
	stays.Awaits(t, "a roster without it", func() bool {
		r := stays.Newest()
		return r != nil && !r.Has(a.Pod.Name, string(a.Pod.UID))
	})
	hoards := server.Join(t, m.Address, a.Pod, func(again *envtest.Agent) { again.Keyring = a.Keyring })
	hoards.Awaits(t, "that its pod has moved", func() bool { return hoards.Moved != nil })
	hoards.Look(func() {
		if hoards.Joins != 0 || hoards.Newest() != nil {
			t.Errorf("by the old certificate it got %+v, and joined %d times", hoards.Newest(), hoards.Joins)
		}
	})
	again := join(t, m, a.Pod)
	again.Follows(t)
	again.Look(func() {
		if name, _ := again.Keyring.Name(); name.Group != "billing" || again.Moved != nil {
			t.Errorf("by its token it joined %s and ended with %v, want billing", name, again.Moved)
		}
	})
}

// TestAForgedTrustConfigMap: a tenant puts an authority of its own into the namespace's ConfigMap,
// and certifies a member. The manager does not care, the agents that have joined keep what they
// have, and the ConfigMap is mended.
func TestAForgedTrustConfigMap(t *testing.T) {
	m := startManager(t, newSystem(t), "")
	namespace := newNamespace(t)
	a := join(t, m, newPod(t, namespace, 0))
	a.Follows(t)
	forger, err := identity.NewAuthority(time.Now())
	must(t, err)
	forged, _, err := forger.PEM()
	must(t, err)
	trust := &corev1.ConfigMap{}
	must(t, kube.Get(bg, types.NamespacedName{Namespace: namespace, Name: v1.TrustConfigMap}, trust))
	good := trust.Data[v1.TrustKey]
	trust.Data[v1.TrustKey] = string(forged)
	must(t, kube.Update(bg, trust))

	name, _ := a.Keyring.Name()
	certPEM, keyPEM := certify(t, forger, name, time.Now().Add(time.Hour))
	if answer, err := ask(t, m, showing(t, a, certPEM, keyPEM), ""); err == nil { // no handshake
		t.Errorf("the manager talks to a certificate of another authority: %v", answer)
	}
	if answer, err := ask(t, m, a.Keyring.RosterClient(), ""); err != nil || answer.GetRefused() != nil {
		t.Errorf("the same by its own certificate: %v (%v); want it to pass, or this test shows nothing", answer, err)
	}
	impostor := identity.NewKeyring(time.Now)
	must(t, impostor.SetTrust([]byte(good)))
	must(t, impostor.SetCertificate(certPEM, keyPEM))
	if handshake(t, impostor, a.Keyring) == nil {
		t.Error("an agent that has joined lets a forged certificate in")
	}
	if err := handshake(t, a.Keyring, a.Keyring); err != nil {
		t.Errorf("by the true certificate: %v; want it let in, or this test shows nothing", err)
	}
	eventually(t, "the manager's bundle in the ConfigMap", func() bool {
		mounted, err := server.MountedTrust(namespace)
		return err == nil && string(mounted) == good
	})
}

// TestATenantsGroupIsItsNamespacesOnly: nothing that a group says reaches pods of another
// namespace, also not with the next roster of their own group. (That those who edit groups cannot
// write their status is tried by test/install.)
func TestATenantsGroupIsItsNamespacesOnly(t *testing.T) {
	m := startManager(t, newSystem(t), "")
	shop, evil := newNamespace(t), newNamespace(t)
	victim := join(t, m, newPod(t, shop, 0))
	victim.Follows(t)
	group := &v1.ElectionGroup{}
	must(t, kube.Get(bg, types.NamespacedName{Namespace: evil, Name: "scheduler"}, group))
	as := client.MergeFrom(group.DeepCopy()) // an Update could meet a conflict: the manager writes the status
	group.Spec.Processes = []v1.Process{{Name: victim.Pod.Name, Priority: new(int32(0))}}
	must(t, kube.Patch(bg, group, as))
	edited := sees(t, evil, func(g *v1.ElectionGroup) bool { return g.Status.ObservedGeneration == group.Generation })
	newPod(t, shop, 1)
	victim.Awaits(t, "the next roster of its own", func() bool {
		r := victim.Newest()
		return r != nil && len(r.Processes) == 2
	})
	victim.Look(func() {
		for _, u := range victim.News {
			if r := u.Roster; r != nil && (r.Namespace != shop || r.Processes[0].Name != victim.Pod.Name || r.Processes[0].Priority == 0) {
				t.Errorf("it was told %+v; want its own group, with its own priority", r)
			}
		}
	})
	if len(edited.Status.Processes) != 1 {
		t.Errorf("the table of %s: %+v; want a row for what its spec names", evil, edited.Status.Processes)
	}
	for _, row := range edited.Status.Processes {
		if row.State == v1.ProcessCoordinator || row.Follows != "" {
			t.Errorf("a pod of another namespace is in the table: %+v", row)
		}
	}
}

// showing is how an agent connects that shows this certificate instead of its own.
func showing(t *testing.T, a *envtest.Agent, certPEM, keyPEM []byte) *tls.Config {
	t.Helper()
	own, err := tls.X509KeyPair(certPEM, keyPEM)
	must(t, err)
	config := a.Keyring.RosterClient()
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &own, nil }
	return config
}

// ask asks the manager for a certificate, by a token or, if it is empty, by the certificate that is
// shown.
func ask(t *testing.T, m *envtest.Manager, config *tls.Config, token string) (*rosterpb.JoinResponse, error) {
	t.Helper()
	conn, err := tls.Dial("tcp", m.Address, config)
	must(t, err) // in TLS 1.3 the client's part ends before the server has checked its certificate
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	messages := delimited.New(conn, 1<<20)
	if err := messages.Send(&rosterpb.ToManager{Message: &rosterpb.ToManager_Join{
		Join: &rosterpb.JoinRequest{Token: token, Csr: request(t)},
	}}); err != nil {
		return nil, err
	}
	answer := new(rosterpb.ToAgent)
	err = messages.Receive(answer)
	return answer.GetJoined(), err
}

func request(t *testing.T) []byte {
	t.Helper()
	key, err := identity.NewKey()
	must(t, err)
	csr, err := identity.Request(key)
	must(t, err)
	return csr
}

// relabel moves a pod to a group; out of any, if it is empty.
func relabel(t *testing.T, pod *corev1.Pod, group string) {
	t.Helper()
	value := `"` + group + `"`
	if group == "" {
		value = "null"
	}
	must(t, kube.Patch(bg, pod, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+v1.GroupLabel+`":`+value+`}}}`))))
}

// sees waits until a group of the namespace is as it should be.
func sees(t *testing.T, namespace string, so func(*v1.ElectionGroup) bool) *v1.ElectionGroup {
	t.Helper()
	now := &v1.ElectionGroupList{}
	changes := server.Watch(t, now, client.InNamespace(namespace))
	defer changes.Stop()
	for i := range now.Items {
		if so(&now.Items[i]) {
			return &now.Items[i]
		}
	}
	for deadline := time.After(patience); ; {
		select {
		case e := <-changes.ResultChan():
			if group, ok := e.Object.(*v1.ElectionGroup); ok && so(group) {
				return group
			} else if !ok {
				t.Fatalf("watch: %v", e.Object)
			}
		case <-deadline:
			t.Fatalf("no group in %s was ever as it should be", namespace)
		}
	}
}

func rosterIn(t *testing.T, namespace string) []v1.RosterMember {
	t.Helper()
	group := &v1.ElectionGroup{}
	must(t, kube.Get(bg, types.NamespacedName{Namespace: namespace, Name: "scheduler"}, group))
	if group.Status.Roster == nil {
		return nil
	}
	return group.Status.Roster.Members
}

func voters(r roster.Roster) (n int) {
	for _, p := range r.Processes {
		if p.Voter {
			n++
		}
	}
	return n
}
