package apphealth

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"google.golang.org/protobuf/encoding/protowire"
)

// grpcCheck asks for the health of a service by the gRPC health checking protocol. That is one call
// with one field each way, over HTTP/2 without TLS. The agent makes it with Go's HTTP/2, because
// gRPC's library would be an eighth of an agent.
// (https://github.com/grpc/grpc/blob/master/doc/health-checking.md and PROTOCOL-HTTP2.md)
func grpcCheck(address, service string) Check {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{
		Transport: &http.Transport{
			DisableKeepAlives:      true,
			Protocols:              protocols,
			MaxResponseHeaderBytes: mostHeaders,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	named := protowire.AppendTag(nil, 1, protowire.BytesType)
	question := frame(protowire.AppendString(named, service))
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost,
			"http://"+address+"/grpc.health.v1.Health/Check", bytes.NewReader(question))
		if err != nil {
			return err
		}
		request.Header.Set("Content-Type", "application/grpc")
		request.Header.Set("TE", "trailers")
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		return healthy(response)
	}
}

// Bounds of an answer, which is a few bytes long.
const (
	mostHeaders = 16 << 10
	mostAnswer  = 1 << 10
)

// frame puts the prefix of gRPC before a message: not compressed, and its length.
func frame(message []byte) []byte {
	length := uint32(len(message)) //nolint:gosec // it is short
	return append(binary.BigEndian.AppendUint32([]byte{0}, length), message...)
}

// healthy reads the answer to a question about health; nil: SERVING.
func healthy(response *http.Response) error {
	answer, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer+1))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	// the status is among the headers if nothing else is said
	said := func(name string) string {
		return cmp.Or(response.Trailer.Get(name), response.Header.Get(name))
	}
	switch code := said("Grpc-Status"); code {
	case "0":
	case "":
		return errors.New("the answer has no gRPC status")
	default:
		why, _ := url.PathUnescape(said("Grpc-Message")) // what is badly written is left out
		return fmt.Errorf("gRPC status %s: %s", code, why)
	}
	status, err := servingStatus(answer)
	if err == nil && status != serving {
		err = errors.New(servingStatuses[min(status, unknownService+1)])
	}
	return err
}

// The values of HealthCheckResponse.ServingStatus.
const (
	serving        = 1
	unknownService = 3
)

var servingStatuses = [...]string{
	"UNKNOWN",
	"SERVING",
	"NOT_SERVING",
	"SERVICE_UNKNOWN",
	"a status that the health checking protocol does not have",
}

var errNoAnswer = errors.New("the answer is no HealthCheckResponse")

// servingStatus returns the first field of a HealthCheckResponse, in its frame. One that is left
// out is 0.
func servingStatus(answer []byte) (status uint64, err error) {
	if len(answer) > mostAnswer || len(answer) < len(frame(nil)) ||
		!bytes.Equal(answer, frame(answer[len(frame(nil)):])) {
		return 0, errNoAnswer
	}
	message := answer[len(frame(nil)):]
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return 0, errNoAnswer
		}
		message = message[n:]
		if field == 1 && kind == protowire.VarintType {
			status, n = protowire.ConsumeVarint(message)
		} else {
			n = protowire.ConsumeFieldValue(field, kind, message)
		}
		if n < 0 {
			return 0, errNoAnswer
		}
		message = message[n:]
	}
	return status, nil
}
