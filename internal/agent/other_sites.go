package agent

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// RefuseOtherSites refuses the requests that web pages of other sites send to the app API through
// a browser. A site can have its own name resolve to this machine (DNS rebinding). Then the browser
// takes the agent for a part of that site. So the Host must be an IP address, or a name that no
// other site has. If a page of another site uses such a Host, Sec-Fetch-Site says so.
//
// Not promised: that it refuses a program that is no browser, or a page in a browser that does not
// send Sec-Fetch-Site. Such a page can send GET requests, and cannot read the answers.
func RefuseOtherSites(api http.Handler, appAddress string) http.Handler {
	own, _, _ := net.SplitHostPort(appAddress) // the flags have been checked
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site := r.Header.Get("Sec-Fetch-Site")
		switch {
		case !ownHost(r.Host, own):
			http.Error(w, "the Host of this request may be the name of a web site, so the agent refuses "+
				"it: use an IP address such as 127.0.0.1, localhost, or the host of --app-address",
				http.StatusForbidden)
		case site != "" && site != "none" && site != "same-origin":
			http.Error(w, "a web page of another site sent this request, so the agent refuses it: to look, "+
				"open http://127.0.0.1:4040/v1/coordinator in a tab of its own", http.StatusForbidden)
		default:
			api.ServeHTTP(w, r)
		}
	})
}

// ownHost reports whether a Host is an IP address, localhost, or the host of the agent's address.
func ownHost(host, own string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	return host != "" && (strings.EqualFold(host, "localhost") || strings.EqualFold(host, own))
}
