package apphealth

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/url"
)

// httpCheck asks for a page, as a kubelet does: a status of 200 to 399 is healthy, a body of up to
// 10 KiB is read, and redirects are followed to the tenth page. A kubelet follows those to another
// port of the same host, too. The agent does not: what the app answers must not have it ask anybody
// else. Such a redirect is an answer, as one to another host is for a kubelet. With https, nobody
// checks the certificate, as a kubelet does not: it names a Service or a host, and not 127.0.0.1.
func httpCheck(target string) Check {
	transport := &http.Transport{
		MaxResponseHeaderBytes: mostHeaders,
		DisableCompression:     true, // nobody looks at the body
		//nolint:gosec // the app is in the agent's own pod
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}
	return func(ctx context.Context) error {
		at, err := url.Parse(target)
		if err != nil {
			return err
		}
		for range mostPages {
			next, err := get(ctx, transport, at)
			if err != nil || next == nil {
				return err
			}
			at = next
		}
		return errors.New("it redirects without end")
	}
}

const (
	mostPages = 10
	mostBody  = 10 << 10
)

// get asks for a page, and returns the one to which the app redirects, if that is its own.
func get(ctx context.Context, transport *http.Transport, at *url.URL) (next *url.URL, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "podesta-agent")
	request.Header.Set("Accept", "*/*")
	if at.User != nil {
		password, _ := at.User.Password()
		request.SetBasicAuth(at.User.Username(), password)
	}
	err = ask(transport, request, func(response *http.Response) error {
		next = redirect(response, at)
		return answersWell(response)
	})
	return next, err
}

// answersWell reads an answer; nil: the app is healthy.
func answersWell(response *http.Response) error {
	if response.StatusCode < http.StatusOK || response.StatusCode >= http.StatusBadRequest {
		return errors.New(response.Status)
	}
	_, err := io.Copy(io.Discard, io.LimitReader(response.Body, mostBody))
	return err
}

// redirect returns where an answer leads within the same app; nil: nowhere.
func redirect(response *http.Response, from *url.URL) *url.URL {
	switch response.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil
	}
	location := response.Header.Get("Location")
	to, err := from.Parse(location)
	if location == "" || err != nil || to.Scheme != from.Scheme || to.Host != from.Host {
		return nil
	}
	to.User = from.User
	return to
}
