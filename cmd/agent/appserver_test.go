package main

import (
	"bufio"
	"net/http"
	"testing"

	"github.com/podesta-dev/podesta/test/bubble"
)

// A web page opens no session if the name of its site resolves to this machine.
func TestAPageOfAnotherSiteOpensNoSession(t *testing.T) {
	for host, want := range map[string]int{
		"evil.example": http.StatusForbidden,
		"agent":        http.StatusOK, // that of --app-address
	} {
		bubble.Test(t, func(t *testing.T) {
			c, _ := ask(t, "GET /v1/session HTTP/1.1\r\nHost: "+host+":4040\r\n"+
				"Podesta-Session: open\r\n\r\n")
			response, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			if response.StatusCode != want {
				t.Errorf("host %s: %s", host, response.Status)
			}
		})
	}
}
