package roster

import (
	"context"

	"github.com/podesta-dev/podesta/internal/connlimit"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// join answers a Join while the connection goes on. A stranger's ends with the answer.
func (c *accepted) join(request *rosterpb.JoinRequest) error {
	if !c.joining.CompareAndSwap(false, true) {
		return refuse(rosterpb.Refusal_BUSY, "a connection has one Join at a time")
	}
	c.server.tasks.Go(func() {
		ctx, cancel := context.WithTimeout(c.ctx, callTimeout)
		defer cancel()
		answer, err := c.server.certify(ctx, c, request)
		if err != nil {
			answer = &rosterpb.JoinResponse{Refused: refusalOf(err)}
		}
		stranger := c.name == identity.Name{}
		c.joining.Store(stranger) // the answer to a stranger is the last
		err = c.send(&rosterpb.ToAgent{Message: &rosterpb.ToAgent_Joined{Joined: answer}})
		if stranger {
			c.end(err)
		}
	})
	return nil
}

// certify gives a pod a certificate.
func (s *Server) certify(ctx context.Context, c *accepted, request *rosterpb.JoinRequest) (
	*rosterpb.JoinResponse, error) {
	if len(request.GetToken()) > maxToken || len(request.GetCsr()) > maxRequest {
		return nil, refuse(rosterpb.Refusal_INVALID, "a token must not be longer than %d bytes and "+
			"a certificate request not longer than %d", maxToken, maxRequest)
	}
	done, err := s.turn(ctx, c, request.GetToken())
	if err != nil {
		return nil, err
	}
	defer done()
	// taken before the pod's existence is checked, so that what is signed ends at most a Lifetime
	// after that check
	asked := s.Now()
	name, err := s.admit(ctx, c, request.GetToken())
	if err != nil {
		return nil, err
	}
	certificate, err := s.Authority.Sign(request.GetCsr(), name, asked)
	if err != nil {
		return nil, refuse(rosterpb.Refusal_INVALID, "the certificate request cannot be signed: %v",
			err)
	}
	s.Logger.Info("admitted", "namespace", name.Namespace, "group", name.Group, "pod", name.Pod,
		"uid", name.UID, "byToken", request.GetToken() != "")
	trust, _, _ := s.publisher.read(name)
	return &rosterpb.JoinResponse{Certificate: certificate, Trust: []byte(trust)}, nil
}

// turn waits until the caller may join.
func (s *Server) turn(ctx context.Context, c *accepted, token string) (done func(), err error) {
	if token != "" {
		return s.joins.Take(ctx, s.Admission.Claims(token), connlimit.AddressOf(c.raw.RemoteAddr()))
	}
	name, err := c.caller()
	if err != nil {
		return nil, err
	}
	if !c.isThere() { // all of the namespace together are one source
		return s.renewals.Take(ctx, name.Namespace, "pods that are gone of "+name.Namespace)
	}
	return s.renewals.Take(ctx, name.Namespace, "pod "+name.UID)
}

// admit returns the process to certify: the token's pod or, without a token, the certificate's.
func (s *Server) admit(ctx context.Context, c *accepted, token string) (identity.Name, error) {
	if token != "" {
		name, err := s.Admission.Admit(ctx, token)
		if err != nil {
			return identity.Name{}, admissionError(err)
		}
		return name, nil
	}
	name, err := c.caller()
	if err != nil {
		return identity.Name{}, err
	}
	if err := s.Admission.Readmit(ctx, name); err != nil {
		return identity.Name{}, admissionError(err)
	}
	return name, nil
}
