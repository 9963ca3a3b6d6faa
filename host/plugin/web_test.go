package plugin_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-host/bulkhead/host/guest/guesttest"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/sandbox/audit"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
	"github.com/bulkhead-host/bulkhead/sandbox/egress"
	"github.com/bulkhead-host/bulkhead/sandbox/egress/egresstest"
)

// webScene is a scene with a hostile web around it. Its server is reached only as
// a local service.
type webScene struct {
	*scene
	server *httptest.Server
	names  *egresstest.Names
	dialer *egresstest.Dialer
}

func openWeb(t *testing.T, change ...func(*egress.Config)) *webScene {
	t.Helper()
	w := &webScene{server: egresstest.Server(), names: &egresstest.Names{}, dialer: &egresstest.Dialer{}}
	t.Cleanup(w.server.Close)
	c := egress.Config{LocalServices: []string{w.host()}, Resolver: w.names, Dialer: w.dialer}
	for _, f := range change {
		f(&c)
	}
	guard, err := egress.New(c)
	if err != nil {
		t.Fatal(err)
	}
	w.scene = open(t, func(s *scene) { s.guard = guard })
	return w
}

func (w *webScene) host() string { return strings.TrimPrefix(w.server.URL, "http://") }

// openURLs calls the tool with addresses.
func (w *webScene) openURLs(t *testing.T, urls ...string) tool.Result {
	t.Helper()
	args, err := json.Marshal(map[string]any{"urls": urls})
	if err != nil {
		t.Fatal(err)
	}
	return w.call(t, "open_url", string(args))
}

func withOpenURL(t *testing.T, change ...func(*egress.Config)) *webScene {
	t.Helper()
	w := openWeb(t, change...)
	if err := w.install(t, map[string][]byte{"open_url.wasm": built.OpenURL}); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestOpenURLIsAsItsManifestSays(t *testing.T) {
	w := withOpenURL(t)
	s := w.tool(t, "open_url").Spec()
	slices.Sort(s.Labels)
	if !slices.Equal(s.Labels, []string{"egress", "untrusted_content"}) || s.Merge != "urls" || !s.Cites ||
		!slices.Equal(s.Needs, []string{"query", "citations"}) {
		t.Errorf("spec is %+v", s)
	}
	if n := len(built.OpenURL); n > 12<<20 {
		t.Errorf("the module has %d bytes", n)
	}
}

func TestOpenURLReadsPagesAndCitesThem(t *testing.T) {
	w := withOpenURL(t)
	r := w.openURLs(t, w.server.URL+"/page?token=hush", w.server.URL+"/gzip", w.server.URL+"/nowhere")
	if r.Failure != nil {
		t.Fatal(r.Text)
	}
	var a struct {
		Results []struct {
			Ref            int
			Title, Content string
		}
		Failed []struct{ URL, Reason string }
	}
	if err := json.Unmarshal([]byte(r.Text), &a); err != nil {
		t.Fatal(err)
	}
	if len(a.Results) != 2 || a.Results[0].Ref != 101 || a.Results[0].Title != "Northern tower" ||
		!strings.Contains(a.Results[0].Content, egresstest.Text) || a.Results[1].Content != egresstest.Text {
		t.Errorf("results are %+v", a.Results)
	}
	if len(a.Failed) != 1 || !strings.Contains(a.Failed[0].Reason, "404") {
		t.Errorf("failed are %+v", a.Failed)
	}
	if len(r.Documents) != 2 || r.Documents[0].ID != w.server.URL+"/page?token=hush" || r.Documents[0].Ref != 101 ||
		r.Documents[0].Source != "web" {
		t.Errorf("documents are %+v", r.Documents)
	}
	var summaries []string
	for _, h := range r.HostCalls {
		summaries = append(summaries, h.Capability+" "+h.Decision+" "+h.Summary)
		if h.Bytes == 0 {
			t.Errorf("%s has no bytes", h.Summary)
		}
	}
	want := []string{"http allow fetch " + w.server.URL + "/page?token=…", "http allow fetch " + w.server.URL + "/gzip",
		"http allow fetch " + w.server.URL + "/nowhere"}
	if !slices.Equal(summaries, want) {
		t.Errorf("host calls are %q", summaries)
	}
	for _, e := range w.records(t, "http_fetch") {
		if strings.Contains(e.Summary, "hush") || e.Decision != "allow" {
			t.Errorf("the record is %+v", e)
		}
	}
	if n := len(w.records(t, "http_fetch")); n != 3 {
		t.Errorf("%d requests are on record", n)
	}
}

// records returns what is on record of a host function.
func (w *webScene) records(t *testing.T, function string) []audit.Entry {
	t.Helper()
	all, err := w.log.Tail(10_000)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(e audit.Entry) bool { return e.Function != function })
}

// TestForbiddenTargetsAreDeniedThroughThePlugin goes all the way: the module, the
// gate, egress.
func TestForbiddenTargetsAreDeniedThroughThePlugin(t *testing.T) {
	w := withOpenURL(t)
	targets := egresstest.Forbidden()
	if len(targets) < 60 {
		t.Fatalf("only %d targets", len(targets))
	}
	for ten := range slices.Chunk(targets, 10) {
		r := w.openURLs(t, ten...)
		if r.Failure == nil {
			t.Errorf("one of %q was opened: %s", ten, r.Text)
		}
		for i, h := range r.HostCalls {
			if h.Decision != "deny" && h.Summary != "fetch http://nowhere.test/" {
				t.Errorf("number %d of %q has the decision %s: %s", i, ten, h.Decision, h.Summary)
			}
		}
		if len(r.HostCalls) != len(ten) {
			t.Errorf("%d host calls for %q", len(r.HostCalls), ten)
		}
	}
	for ten := range slices.Chunk(targets, 10) {
		var redirects []string
		for _, target := range ten {
			if target != "http:///path" && target != "http://" &&
				target != "//127.0.0.1/" { // relative, with a meaning of their own
				redirects = append(redirects, w.server.URL+"/to?u="+url.QueryEscape(target))
			}
		}
		if r := w.openURLs(t, redirects...); r.Failure == nil {
			t.Errorf("a redirect to one of %q was followed: %s", ten, r.Text)
		}
	}
	for _, address := range w.dialer.Dialed() {
		if address != w.host() {
			t.Errorf("dialled %s", address)
		}
	}
}

func TestAHostileWebHarmsNobody(t *testing.T) {
	w := withOpenURL(t)
	for path, says := range map[string]string{
		"/gzip-bomb": "unpacks to more than 100 times", "/br-bomb": "unpacks to more than 100 times",
		"/hops/20": "redirected more than 10 times",
		"/long":    "before its answer was complete", "/garbage": "did not answer as HTTP asks",
		"/hangup": "ended the connection", "/flood": "did not answer as HTTP asks",
		"/gzip-lie": "compressed with gzip, and it is not", "/klingon": "klingon", "/png": "not text",
	} {
		if r := w.openURLs(t, w.server.URL+path); r.Failure == nil || !strings.Contains(r.Text, says) {
			t.Errorf("%s: want %q in %s", path, says, r.Text)
		}
	}
	for path, has := range map[string]string{
		"/endless": "larger than 2 MiB", "/fifty": "larger than 2 MiB", "/deep": egresstest.Text, "/charset": "灯台",
		"/short":  egresstest.Text[:8],
		"/cookie": `cookie: \"\"`, "/refresh": egresstest.Text,
	} {
		if r := w.openURLs(t, w.server.URL+path); r.Failure != nil || !strings.Contains(r.Text, has) {
			t.Errorf("%s: want %q in %.300s", path, has, r.Text)
		}
	}
	if r := w.openURLs(t, w.server.URL+"/page"); r.Failure != nil {
		t.Errorf("after all that: %s", r.Text)
	}
}

// TestANameThatChangesItsAnswerIsCheckedEachTime goes through the module: what a
// name led to when it was checked before counts for nothing.
func TestANameThatChangesItsAnswerIsCheckedEachTime(t *testing.T) {
	w := withOpenURL(t)
	w.dialer.Instead = map[string]string{egresstest.PublicAddress + ":80": w.host()}
	w.names.More = map[string][][]string{
		"rebind.test": {{egresstest.PublicAddress}, {"127.0.0.1"}},
		"moving.test": {{egresstest.PublicAddress}, {"169.254.169.254"}},
		"mixed.test":  {{egresstest.PublicAddress, "10.0.0.1"}},
	}
	if r := w.openURLs(t, "http://rebind.test/page"); r.Failure != nil {
		t.Fatalf("while it leads outside: %s", r.Text)
	}
	if r := w.openURLs(t, "http://rebind.test/page"); r.Failure == nil || r.HostCalls[0].Decision != "deny" {
		t.Errorf("once it leads inside: %s", r.Text)
	}
	if r := w.openURLs(t, "http://moving.test/to?u=/page"); r.Failure == nil || r.HostCalls[0].Decision != "deny" {
		t.Errorf("a redirect to the same name: %s", r.Text)
	}
	if r := w.openURLs(t, "http://mixed.test/page"); r.Failure == nil &&
		!slices.Contains(w.dialer.Dialed(), egresstest.PublicAddress+":80") {
		t.Errorf("one of two addresses is inside: %s", r.Text)
	}
	for _, address := range w.dialer.Dialed() {
		if address != egresstest.PublicAddress+":80" {
			t.Errorf("dialled %s", address)
		}
	}
}

func TestTenAddressesAreFetchedSideBySide(t *testing.T) {
	meet := egresstest.NewMeeting(10)
	defer meet.Close()
	w := withOpenURL(t, func(c *egress.Config) { c.LocalServices = append(c.LocalServices, meet.Host()) })
	var urls []string
	for i := range 10 {
		urls = append(urls, fmt.Sprintf("http://%s/%d", meet.Host(), i))
	}
	// Each answers only once all ten have asked.
	if r := w.openURLs(t, urls...); r.Failure != nil || len(r.Documents) != 10 || len(r.HostCalls) != 10 {
		t.Errorf("%d documents, %d host calls: %.500s", len(r.Documents), len(r.HostCalls), r.Text)
	}
}

func TestWithoutTheGrantNothingGoesOut(t *testing.T) {
	w := withOpenURL(t)
	set := func(g capability.Grant) {
		t.Helper()
		if err := w.manager.SetGrant(t.Context(), anOperator, "open_url", g); err != nil {
			t.Fatal(err)
		}
	}
	set(capability.Grant{Capability: "http", Mode: capability.Deny})
	if r := w.openURLs(t, w.server.URL+"/page"); r.Failure == nil || !strings.Contains(r.Text, "may not be opened") {
		t.Errorf("revoked: %s", r.Text)
	}
	set(capability.Grant{Capability: "http", Mode: capability.Ask})
	if r := w.openURLs(t, w.server.URL+"/page"); r.Failure == nil || !strings.Contains(r.Text, "nobody can be asked") {
		t.Errorf("to be asked: %s", r.Text)
	}
	set(capability.Grant{Capability: "http", Mode: capability.Allow,
		Params: json.RawMessage(`{"allow":[{"host":"127.0.0.1","path_prefix":"/ok"}]}`)})
	if r := w.openURLs(t, w.server.URL+"/page"); r.Failure == nil || !strings.Contains(r.Text, "is not on the list") {
		t.Errorf("narrowed: %s", r.Text)
	}
	if r := w.openURLs(t, w.server.URL+"/ok"); r.Failure != nil {
		t.Errorf("narrowed: %s", r.Text)
	}
	set(capability.Grant{Capability: "http", Mode: capability.Allow, Params: json.RawMessage(`{"rate_per_minute":3}`)})
	if r := w.openURLs(t, w.server.URL+"/ok?1", w.server.URL+"/ok?2", w.server.URL+"/ok?3", w.server.URL+"/ok?4",
		w.server.URL+"/ok?5"); !strings.Contains(r.Text, "more requests a minute") {
		t.Errorf("too often: %s", r.Text)
	}
	none := withOpenURL(t, func(c *egress.Config) { c.Level = egress.None })
	if r := none.openURLs(t, none.server.URL+"/page"); r.Failure == nil || !strings.Contains(r.Text, "egress: none") {
		t.Errorf("at the level none: %s", r.Text)
	}
}

const webProbe = `{"manifest":1,"name":"probe","version":"1","capabilities":{"http":{"allow":[{"host":"127.0.0.1","methods":["GET","POST"]}],"max_response_bytes":100000}}}`

func withWebProbe(t *testing.T) *webScene {
	t.Helper()
	w := openWeb(t)
	if err := w.install(t, map[string][]byte{"probe.wasm": guesttest.Packed(t, built.Probe, webProbe)}); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestExtismPluginsRequestThroughTheSameDoor(t *testing.T) {
	w := withWebProbe(t)
	ask := func(arguments string) string {
		t.Helper()
		return w.call(t, "request", strings.ReplaceAll(arguments, "SERVER", w.server.URL)).Text
	}
	if got := ask(`{"url":"SERVER/echo?key=hush","method":"POST","headers":{"X-Own":"yes"},"body":"the body"}`); !strings.HasPrefix(got, "status 200\n") ||
		!strings.Contains(got, "POST /echo?key=hush") || !strings.Contains(got, "X-Own: yes") ||
		!strings.Contains(got, "the body") || !strings.Contains(got, `"content-type"`) {
		t.Errorf("granted: %s", got)
	}
	for arguments, says := range map[string]string{
		`{"url":"http://10.0.0.1/"}`:                         "not on the list",
		`{"url":"http://127.0.0.1:1/"}`:                      "not reached from here",
		`{"url":"SERVER/echo","method":"DELETE"}`:            "not on the list",
		`{"url":"SERVER/echo","headers":{"Host":"a.test"}}`:  "belongs to the host",
		`{"url":"SERVER/fifty"}`:                             "larger than this plugin may read",
		`{"url":"SERVER/to?u=http%3A%2F%2Flocalhost%2F"}`:    "redirects",
		`{"url":"SERVER/garbage"}`:                           "HTTP",
		`{"url":"SERVER/echo","method":"GET","body":"body"}`: "has no body",
	} {
		if got := ask(arguments); !strings.HasPrefix(got, "status 0\nheaders {}\n") || !strings.Contains(got, says) {
			t.Errorf("%s: want %q in %s", arguments, says, got)
		}
	}
	records := w.records(t, "http_fetch")
	if len(records) == 0 || records[0].Summary != "send POST to "+w.server.URL+"/echo?key=…" {
		t.Errorf("the record is %+v", records)
	}
}

func TestFetchIsTold(t *testing.T) {
	w := withWebProbe(t)
	ask := func(arguments string) tool.Result {
		t.Helper()
		return w.call(t, "fetch", strings.ReplaceAll(arguments, "SERVER", w.server.URL))
	}
	if r := ask(`{"url":"SERVER/to?u=/ok"}`); r.Text != "status 200\nat "+w.server.URL+"/ok\ntruncated false\n"+
		egresstest.Text {
		t.Errorf("answer is %s", r.Text)
	}
	if r := ask(`{"url":"SERVER/fifty"}`); !strings.Contains(r.Text, "truncated true") {
		t.Errorf("answer is %.200s", r.Text)
	}
	for arguments, says := range map[string]string{
		`{"url":"SERVER/ok","credential":"github"}`: "denied: The credential", // it must not go out bare
		`{"url":"nonsense"}`:                        "invalid: ",
		`{"url":"SERVER/hangup"}`:                   "failed: ",
		`{"url":"http://example.org/"}`:             "denied: ",
	} {
		if r := ask(arguments); r.Failure == nil || !strings.Contains(r.Text, says) {
			t.Errorf("%s: want %q in %s", arguments, says, r.Text)
		}
	}
	unreachable := open(t)
	if err := unreachable.install(t, map[string][]byte{"probe.wasm": guesttest.Packed(t, built.Probe,
		webProbe)}); err != nil {
		t.Fatal(err)
	}
	if r := unreachable.call(t, "fetch", `{"url":"http://127.0.0.1/"}`); !strings.Contains(r.Text, "unavailable: ") {
		t.Errorf("a host without egress: %s", r.Text)
	}
}
