package egress_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/sandbox/egress"
	"github.com/bulkhead-host/bulkhead/sandbox/egress/egresstest"
)

func TestAModelReachesItsOriginOnly(t *testing.T) {
	server, other := egresstest.Server(), egresstest.Server()
	defer server.Close()
	defer other.Close()
	client := egress.ModelClient(server.URL + "/v1")
	defer client.CloseIdleConnections()
	res, err := client.Post(server.URL+"/echo", "text/plain", strings.NewReader("x"))
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("%v, %v", res, err)
	}
	res.Body.Close()
	for _, target := range []string{
		other.URL, strings.Replace(server.URL, "http", "https", 1),
		strings.Replace(server.URL, "127.0.0.1", "localhost", 1),
		strings.Replace(server.URL, "127.0.0.1", "127.1", 1), "http://example.test/", "file:///etc/passwd",
	} {
		res, err := client.Get(target)
		var e *egress.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", target, err)
		}
		if err == nil {
			res.Body.Close()
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/ok", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "other.test"
	if res, err := client.Do(req); err == nil {
		res.Body.Close()
		t.Error("another Host went out")
	}
}

func TestAModelsRedirectIsNotFollowed(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.Redirect(w, r, "/again", http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	client := egress.ModelClient(server.URL)
	defer client.CloseIdleConnections()
	res, err := client.Get(server.URL)
	if err != nil || res.StatusCode != http.StatusTemporaryRedirect || asked != 1 {
		t.Fatalf("%v, %v, asked %d times", res, err, asked)
	}
	res.Body.Close()
}

func TestAModelIsNoMetadataService(t *testing.T) {
	for _, origin := range []string{"http://169.254.169.254/v1", "http://[fd00:ec2::254]/", "http://100.100.100.200"} {
		client := egress.ModelClient(origin)
		res, err := client.Get(origin)
		var e *egress.Error
		if !errors.As(err, &e) || e.Kind != egress.Denied {
			t.Errorf("%s: %v", origin, err)
		}
		if err == nil {
			res.Body.Close()
		}
	}
}

func TestAnOriginThatIsNoneReachesNothing(t *testing.T) {
	server := egresstest.Server()
	defer server.Close()
	for _, origin := range []string{"", "nonsense", "ftp://a.test", "http://u:p@a.test", "http://127.1/"} {
		res, err := egress.ModelClient(origin).Get(server.URL + "/ok")
		if err == nil {
			res.Body.Close()
			t.Errorf("%q reaches a server", origin)
		}
	}
}
