package identity

import (
	"strings"
	"testing"
	"time"
)

func TestOnlyTheManagersSignatureOfTheseBytesForThisPurposeCounts(t *testing.T) {
	a, stranger := newAuthority(t), newAuthority(t)
	manager := newManagerKeyring(t, a)
	roster := []byte("a roster")
	signed, err := manager.Sign("roster", roster)
	if err != nil {
		t.Fatal(err)
	}
	impostor, err := newManagerKeyring(t, stranger).Sign("roster", roster)
	if err != nil {
		t.Fatal(err)
	}
	broken := signed
	broken.Value = append([]byte{}, signed.Value...)
	broken.Value[len(broken.Value)-1] ^= 1
	stolen := signed
	stolen.Certificate = impostor.Certificate
	process := signed
	process.Certificate = newKeyring(t, a, scheduler2, noon).leaf().Raw

	for what, tc := range map[string]struct {
		now     time.Time
		purpose string
		data    []byte
		s       Signature
		want    string // in the error; empty: none
	}{
		"as it was signed":              {noon, "roster", roster, signed, ""},
		"at the certificate's end":      {noon.Add(Lifetime), "roster", roster, signed, ""},
		"after the certificate's end":   {noon.Add(Lifetime + time.Second), "roster", roster, signed, "expired"},
		"other bytes":                   {noon, "roster", []byte("another"), signed, "not that of this roster"},
		"a purpose that ends elsewhere": {noon, "roste", []byte("ra roster"), signed, "not that of this roste"},
		"another purpose":               {noon, "trust", roster, signed, "not that of this trust"},
		"one bit flipped":               {noon, "roster", roster, broken, "not that of this roster"},
		"by a manager of nobody's":      {noon, "roster", roster, impostor, "unknown authority"},
		"with another certificate":      {noon, "roster", roster, stolen, "unknown authority"},
		"with a process's certificate":  {noon, "roster", roster, process, "only the manager signs"},
		"without a certificate":         {noon, "roster", roster, Signature{Value: signed.Value}, "signer's certificate"},
	} {
		k := newKeyring(t, a, scheduler2, noon)
		k.now = clock(tc.now)
		err := k.Verify(tc.purpose, tc.data, tc.s)
		if tc.want == "" && err != nil || tc.want != "" &&
			(err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", what, err, tc.want)
		}
	}
}

func TestOnlyTheManagerSigns(t *testing.T) {
	k := newKeyring(t, newAuthority(t), scheduler2, noon)
	if _, err := k.Sign("roster", nil); err == nil || !strings.Contains(err.Error(), "only the manager signs") {
		t.Errorf("a process signs: %v", err)
	}
	if _, err := NewKeyring(clock(noon)).Sign("roster", nil); err == nil {
		t.Error("a keyring without a certificate signs")
	}
	if err := NewKeyring(clock(noon)).Verify("roster", nil, Signature{}); err == nil {
		t.Error("a keyring without trust verifies")
	}
}

func TestOnlyAProcessSignsForItself(t *testing.T) {
	a, stranger := newAuthority(t), newAuthority(t)
	data := []byte("a number")
	sign := func(k *Keyring) Signature {
		s, err := k.SignOwn("start", data)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	own, other := sign(newKeyring(t, a, scheduler2, noon)), scheduler2
	other.UID += "-of-the-next"
	later := noon.Add(2 * Lifetime)
	for what, tc := range map[string]struct {
		purpose string
		data    []byte
		s       Signature
		want    string // in the error; empty: none
	}{
		"by its earlier key and certificate": {"start", data, own, ""},
		"other bytes":                        {"start", []byte("another"), own, "not that of this start"},
		"another purpose":                    {"roster", data, own, "not that of this roster"},
		"by a pod of the same name":          {"start", data, sign(newKeyring(t, a, other, noon)), "itself"},
		"by the manager":                     {"start", data, sign(newManagerKeyring(t, a)), "itself"},
		"by another authority's": {
			"start", data, sign(newKeyring(t, stranger, scheduler2, noon)), "unknown authority",
		},
		"without a certificate": {"start", data, Signature{Value: own.Value}, "signer's certificate"},
	} {
		k := newKeyring(t, a, scheduler2, later)
		k.now = clock(later)
		err := k.VerifyOwn(tc.purpose, tc.data, tc.s)
		if tc.want == "" && err != nil || tc.want != "" &&
			(err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", what, err, tc.want)
		}
	}
	empty := NewKeyring(clock(noon))
	if _, err := empty.SignOwn("start", data); err == nil {
		t.Error("a keyring without a certificate signs")
	}
	if err := empty.VerifyOwn("start", data, own); err == nil {
		t.Error("a keyring without trust verifies")
	}
}
