package apphealth

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// grpcCheck asks for the health of a service by the gRPC health checking protocol. That is one call
// with one field each way, over HTTP/2 without TLS. The agent makes it with Go's HTTP/2, because
// gRPC's library would be an eighth of an agent.
// (https://github.com/grpc/grpc/blob/master/doc/health-checking.md and PROTOCOL-HTTP2.md)
func grpcCheck(address, service string) Check {
	transport := &http.Transport{
		Protocols:              new(http.Protocols),
		MaxResponseHeaderBytes: mostHeaders,
		DisableCompression:     true, // gRPC has another
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream:     window,
			MaxReceiveBufferPerConnection: window,
		},
	}
	transport.Protocols.SetUnencryptedHTTP2(true)
	call := url.URL{Scheme: "http", Host: address, Path: "/grpc.health.v1.Health/Check"}
	named := protowire.AppendTag(nil, 1, protowire.BytesType)
	question := frame(protowire.AppendString(named, service))
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, call.String(),
			bytes.NewReader(question))
		if err != nil {
			return err
		}
		request.Header.Set("Content-Type", contentType)
		request.Header.Set("TE", "trailers")
		request.Header.Set("User-Agent", "podesta-agent")
		if until, bounded := ctx.Deadline(); bounded {
			left := max(1, time.Until(until).Milliseconds())
			request.Header.Set("Grpc-Timeout", strconv.FormatInt(left, 10)+"m")
		}
		return ask(transport, request, serves)
	}
}

const contentType = "application/grpc"

// Bounds of an answer, which is a few bytes long, and of what is buffered for it.
const (
	mostAnswer = 1 << 10
	window     = 64 << 10
)

// prefix is how many bytes gRPC puts before a message.
const prefix = 5

// frame puts them there: not compressed, and the message's length.
func frame(message []byte) []byte {
	length := uint32(len(message)) //nolint:gosec // it is short
	return append(binary.BigEndian.AppendUint32([]byte{0}, length), message...)
}

// serves reads the answer to a question about health; nil: SERVING.
func serves(response *http.Response) error {
	answer, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer+1))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	if kind := response.Header.Get("Content-Type"); !strings.HasPrefix(kind, contentType) {
		return fmt.Errorf("the answer is %q, and not %s", kind, contentType)
	}
	said := response.Trailer
	if len(answer) == 0 && said.Get("Grpc-Status") == "" { // "Trailers-Only"
		said = response.Header
	}
	switch code := said.Get("Grpc-Status"); code {
	case "0":
	case "":
		return errors.New("the answer has no gRPC status")
	default:
		why := said.Get("Grpc-Message")
		if plain, err := url.PathUnescape(why); err == nil {
			why = plain
		}
		return fmt.Errorf("gRPC status %s: %s", code, why)
	}
	status, err := servingStatus(answer)
	if err == nil && status != serving {
		err = errors.New(servingStatuses[min(status, uint64(len(servingStatuses)-1))])
	}
	return err
}

const serving = 1

// servingStatuses are the values of HealthCheckResponse.ServingStatus, and one for all others.
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
	message := answer[min(prefix, len(answer)):]
	if len(answer) > mostAnswer || !bytes.Equal(answer, frame(message)) {
		return 0, errNoAnswer
	}
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
