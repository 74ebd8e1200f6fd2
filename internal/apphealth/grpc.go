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
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// grpcCheck asks for the health of a service by the gRPC health checking protocol. That is one call
// with one field each way, over HTTP/2 without TLS. The agent makes it with Go's HTTP/2, because
// gRPC's library would be an eighth of an agent. Each check has a connection of its own, which is
// made once and ends with it, whatever the app sends.
// (https://github.com/grpc/grpc/blob/master/doc/health-checking.md and PROTOCOL-HTTP2.md)
func grpcCheck(address, service string) Check {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{
		Protocols:              protocols,
		MaxResponseHeaderBytes: mostHeaders,
		DisableCompression:     true, // gRPC has another
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream:     window,
			MaxReceiveBufferPerConnection: window,
		},
	}
	call := url.URL{Scheme: "http", Host: address, Path: "/grpc.health.v1.Health/Check"}
	named := protowire.AppendTag(nil, 1, protowire.BytesType)
	question := frame(protowire.AppendString(named, service))
	return func(ctx context.Context) error {
		conn, err := transport.NewClientConn(ctx, "http", address)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		defer context.AfterFunc(ctx, func() { _ = conn.Close() })() // ends what is read, too
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
		response, err := conn.RoundTrip(request)
		if err == nil {
			err = healthy(response)
			_ = response.Body.Close()
		}
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
}

const contentType = "application/grpc"

// Bounds of an answer, which is a few bytes long.
const (
	mostHeaders = 16 << 10
	mostAnswer  = 1 << 10
	window      = 64 << 10
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
	if kind := response.Header.Get("Content-Type"); !strings.HasPrefix(kind, contentType) {
		return fmt.Errorf("the answer is %.100q, and not %s", kind, contentType)
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
		why := said("Grpc-Message")
		if plain, err := url.PathUnescape(why); err == nil {
			why = plain
		}
		return fmt.Errorf("gRPC status %.10s: %.200s", code, why)
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
