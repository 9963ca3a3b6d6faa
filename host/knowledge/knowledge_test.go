package knowledge_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/knowledge"
	"github.com/bulkhead-host/bulkhead/host/store"
)

// anOperator is an operator of no account, for what only operators may do.
var anOperator = identity.New(identity.Account{ID: "u_operator", Roles: []identity.Role{identity.Operator}},
	identity.Command)

func TestMain(m *testing.M) {
	// bleve's package starts a pool of analysis workers for the whole process,
	// before any index is opened; everything else must be gone.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/blevesearch/bleve_index_api.AnalysisWorker"))
}

// house is a real store with two users and a Base on it.
type house struct {
	t        testing.TB
	dir      string
	store    *store.Store
	base     *knowledge.Base
	ann, bob identity.Principal
}

var day = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newHouse(t testing.TB) *house {
	t.Helper()
	h := &house{t: t, dir: t.TempDir()}
	var err error
	h.store, err = store.Open(filepath.Join(h.dir, "bulkhead.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.store.Close(); err != nil {
			t.Error(err)
		}
	})
	h.ann, h.bob = h.user("ann", true), h.user("bob", false)
	h.open()
	return h
}

func (h *house) user(name string, operator bool) identity.Principal {
	u, err := h.store.Users().Create(h.t.Context(), anOperator, name, operator)
	if err != nil {
		h.t.Fatal(err)
	}
	return u.Principal(identity.Command)
}

func (h *house) open() {
	h.t.Helper()
	var err error
	h.base, err = knowledge.Open(h.t.Context(), knowledge.Config{Dir: filepath.Join(h.dir, "index"),
		Documents: h.store.Documents(), People: h.store.Users(), Now: func() time.Time { return day }})
	if err != nil {
		h.t.Fatal(err)
	}
	base := h.base
	h.t.Cleanup(func() {
		if err := base.Close(); err != nil {
			h.t.Error(err)
		}
	})
}

func (h *house) close() {
	h.t.Helper()
	if err := h.base.Close(); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) add(p identity.Principal, uri, text string) knowledge.Added {
	h.t.Helper()
	a, err := h.base.Add(h.t.Context(), p, knowledge.Source{URI: uri, Data: []byte(text), ModTime: day})
	if err != nil {
		h.t.Fatal(err)
	}
	return a
}

func (h *house) search(p identity.Principal, text string) []knowledge.Hit {
	h.t.Helper()
	hits, err := h.base.Search(h.t.Context(), p, knowledge.Query{Text: text})
	if err != nil {
		h.t.Fatal(err)
	}
	return hits
}

// found lists the documents of hits by URI, in order, each once.
func found(hits []knowledge.Hit) string {
	var uris []string
	seen := map[string]bool{}
	for _, h := range hits {
		if !seen[h.URI] {
			seen[h.URI] = true
			uris = append(uris, h.URI)
		}
	}
	return strings.Join(uris, " ")
}

func TestAddedDocumentIsFoundListedAndRead(t *testing.T) {
	h := newHouse(t)
	a := h.add(h.ann, "https://e.org/ships.md", "# Ships\n\n## Hull\n\nA **bulkhead** divides the hull into "+
		"compartments.\n")
	if a.Status != knowledge.StatusAdded || a.Title != "Ships" || a.Chunks != 1 || a.Owner != h.ann.UserID() ||
		!a.UpdatedAt.Equal(day) {
		t.Fatalf("added %+v", a)
	}
	hits := h.search(h.ann, "bulkheads dividing hulls")
	if len(hits) != 1 {
		t.Fatalf("%d hits", len(hits))
	}
	got := hits[0]
	if got.DocumentID != a.ID || got.Title != "Ships" || got.URL != "https://e.org/ships.md" || got.Score <= 0 ||
		!got.UpdatedAt.Equal(day) || got.Section != "Ships" {
		t.Fatalf("hit %+v", got)
	}
	if want := "Ships Hull A bulkhead divides the hull into compartments."; got.Snippet != want {
		t.Fatalf("snippet %q, want %q", got.Snippet, want)
	}
	var lit []string
	for _, s := range got.Highlights {
		lit = append(lit, string([]rune(got.Snippet)[s.Start:s.End]))
	}
	if want := []string{"Hull", "bulkhead", "divides", "hull"}; !reflect.DeepEqual(lit, want) {
		t.Fatalf("highlights %q, want %q", lit, want)
	}
	docs, err := h.base.List(t.Context(), h.ann)
	if err != nil || len(docs) != 1 || docs[0] != a.Document {
		t.Fatalf("list %+v %v", docs, err)
	}
	if one, err := h.base.Get(t.Context(), h.ann, a.ID); err != nil || one != a.Document {
		t.Fatalf("get %+v %v", one, err)
	}
}

func TestReadCountsCodePoints(t *testing.T) {
	h := newHouse(t)
	a := h.add(h.ann, "a.txt", "äöü世界🚀xyz")
	for _, c := range []struct {
		offset, limit int
		want          string
	}{{0, 0, "äöü世界🚀xyz"}, {3, 3, "世界🚀"}, {8, 5, "z"}, {9, 1, ""}, {100, 1, ""}, {0, 1, "ä"}, {0, 9, "äöü世界🚀xyz"}} {
		text, total, err := h.base.Read(t.Context(), h.ann, a.ID, c.offset, c.limit)
		if err != nil || text != c.want || total != 9 {
			t.Errorf("Read(%d, %d) = %q, %d, %v; want %q, 9", c.offset, c.limit, text, total, err, c.want)
		}
	}
	if _, _, err := h.base.Read(t.Context(), h.ann, a.ID, -1, 0); !errors.Is(err, knowledge.ErrInvalid) {
		t.Errorf("negative offset: %v", err)
	}
}

func TestNobodyReachesAnothersDocuments(t *testing.T) {
	h := newHouse(t)
	a := h.add(h.bob, "secret.md", "# Plans\n\nthe treasure lies under the lighthouse\n")
	for _, c := range []struct {
		who identity.Principal
		// listed is what one's own lists give, and touched what bob's document does.
		listed, touched error
	}{
		{h.ann, nil, knowledge.ErrNotFound},
		{anOperator, nil, knowledge.ErrNotFound},
		{identity.Principal{}, identity.ErrNobody, identity.ErrNobody},
		{identity.ForHost("a test"), identity.ErrForbidden, identity.ErrForbidden},
	} {
		hits, err := h.base.Search(t.Context(), c.who, knowledge.Query{Text: "treasure lighthouse plans"})
		if len(hits) != 0 || !errors.Is(err, c.listed) {
			t.Errorf("%s found %q, %v", c.who, found(hits), err)
		}
		if docs, err := h.base.List(t.Context(), c.who); !errors.Is(err, c.listed) || len(docs) != 0 {
			t.Errorf("%s listed %d, %v", c.who, len(docs), err)
		}
		if _, err := h.base.Get(t.Context(), c.who, a.ID); !errors.Is(err, c.touched) {
			t.Errorf("%s got: %v", c.who, err)
		}
		if _, _, err := h.base.Read(t.Context(), c.who, a.ID, 0, 0); !errors.Is(err, c.touched) {
			t.Errorf("%s read: %v", c.who, err)
		}
		if err := h.base.Remove(t.Context(), c.who, a.ID); !errors.Is(err, c.touched) {
			t.Errorf("%s removed: %v", c.who, err)
		}
	}
	for who, want := range map[*identity.Principal]error{
		{}: identity.ErrNobody, &h.bob: identity.ErrForbidden, &anOperator: nil,
	} {
		if _, err := h.base.Reindex(t.Context(), *who); !errors.Is(err, want) {
			t.Errorf("reindex by %s: %v, want %v", who, err, want)
		}
	}
	_, err := h.base.Add(t.Context(), identity.Principal{}, knowledge.Source{URI: "x.md", Data: []byte("x")})
	if !errors.Is(err, identity.ErrNobody) {
		t.Errorf("nobody added: %v", err)
	}
	if hits := h.search(h.bob, "treasure"); len(hits) != 1 {
		t.Fatalf("the owner found %d", len(hits))
	}
}

func TestRightsApplyBeforeRanking(t *testing.T) {
	h := newHouse(t)
	for i := range 40 {
		h.add(h.bob, fmt.Sprintf("b%02d.md", i), "# Anchor\n\nanchor anchor anchor anchor\n")
	}
	h.add(h.ann, "mine.md", "A long note in which an anchor is mentioned once, late, among many other words.\n")
	hits, err := h.base.Search(t.Context(), h.ann, knowledge.Query{Text: "anchor", Limit: 1})
	if err != nil || found(hits) != "mine.md" {
		t.Fatalf("found %q, %v", found(hits), err)
	}
}

func TestSameBytesChangeNothingAndOtherBytesReplace(t *testing.T) {
	h := newHouse(t)
	long := strings.Repeat("A sentence about the old rudder of the ship. ", 200)
	first := h.add(h.ann, "a.md", "# Old\n\n"+long)
	if again := h.add(h.ann, "a.md", "# Old\n\n"+long); again.Status != knowledge.StatusUnchanged ||
		again.Document != first.Document {
		t.Fatalf("again %+v", again)
	}
	next := h.add(h.ann, "a.md", "# New\n\nOnly the keel remains.\n")
	if next.Status != knowledge.StatusUpdated || next.ID != first.ID || next.Chunks != 1 {
		t.Fatalf("updated %+v", next)
	}
	if hits := h.search(h.ann, "rudder"); len(hits) != 0 {
		t.Fatalf("an old passage is still found: %+v", hits[0])
	}
	if hits := h.search(h.ann, "keel"); len(hits) != 1 || hits[0].Title != "New" {
		t.Fatalf("found %+v", hits)
	}
	if err := h.base.Remove(t.Context(), h.ann, next.ID); err != nil {
		t.Fatal(err)
	}
	if hits := h.search(h.ann, "keel"); len(hits) != 0 {
		t.Fatalf("found after removal: %+v", hits)
	}
	if err := h.base.Remove(t.Context(), h.ann, next.ID); !errors.Is(err, knowledge.ErrNotFound) {
		t.Fatalf("second removal: %v", err)
	}
}

func TestBadDocumentsGiveTypedErrorsAndLeaveTheOldOne(t *testing.T) {
	h := newHouse(t)
	h.add(h.ann, "a.md", "# Good\n\ncompass\n")
	for name, c := range map[string]struct {
		src  knowledge.Source
		want error
	}{
		"type":     {knowledge.Source{URI: "x.pdf", Data: []byte("%PDF")}, knowledge.ErrUnsupportedType},
		"size":     {knowledge.Source{URI: "a.md", Data: make([]byte, 8<<20+1)}, knowledge.ErrTooLarge},
		"encoding": {knowledge.Source{URI: "a.md", Data: []byte("\xff\x00")}, knowledge.ErrBadEncoding},
		"depth": {knowledge.Source{URI: "a.html", Data: []byte(strings.Repeat("<div>", 9999))},
			knowledge.ErrTooDeep},
		"no URI":   {knowledge.Source{Name: "a.md", Data: []byte("x")}, knowledge.ErrInvalid},
		"long URI": {knowledge.Source{URI: strings.Repeat("u", 5000) + ".md", Data: []byte("x")}, knowledge.ErrInvalid},
		"bad URI":  {knowledge.Source{URI: "\xff.md", Data: []byte("x")}, knowledge.ErrInvalid},
	} {
		if _, err := h.base.Add(t.Context(), h.ann, c.src); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if _, err := h.base.Add(t.Context(), identity.ForUser("gone", "a test"),
		knowledge.Source{URI: "b.md", Data: []byte("x")}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("unknown user: %v", err)
	}
	if hits := h.search(h.ann, "compass"); found(hits) != "a.md" {
		t.Fatalf("found %q", found(hits))
	}
}

func TestEmptyDocumentIsKeptWithoutPassages(t *testing.T) {
	h := newHouse(t)
	if a := h.add(h.ann, "empty.md", " \n\n"); a.Chunks != 0 || a.Title != "empty" {
		t.Fatalf("added %+v", a)
	}
	h.close()
	h.open()
	if docs, err := h.base.List(t.Context(), h.ann); err != nil || len(docs) != 1 {
		t.Fatalf("%d documents, %v", len(docs), err)
	}
}

func TestQuestionsAreWordsAndNeverSyntax(t *testing.T) {
	h := newHouse(t)
	h.add(h.ann, "a.md", "# Sails\n\nmainsail and jib\n")
	h.add(h.bob, "b.md", "# Sails\n\nmainsail of bob\n")
	for _, q := range []string{
		`+mainsail -jib`, `owner:` + h.bob.UserID() + ` mainsail`, `mainsail" OR "x`, `title:mainsail^9 /.*/ *`,
		`mainsail~2 [a TO z]`, `(((mainsail`, `mainsail \`,
	} {
		if got := found(h.search(h.ann, q)); got != "a.md" {
			t.Errorf("%q found %q", q, got)
		}
	}
	for _, q := range []string{"", "   ", "*", "+-!(){}[]^\"~?:\\/", "/.*/", "zzz", "[* TO *]"[:1]} {
		if hits := h.search(h.ann, q); len(hits) != 0 {
			t.Errorf("%q found %d", q, len(hits))
		}
	}
	for _, q := range []knowledge.Query{{Text: strings.Repeat("a", knowledge.MaxQuery+1)}, {Text: "a\xff"},
		{Text: "a", Limit: -1}} {
		if _, err := h.base.Search(t.Context(), h.ann, q); !errors.Is(err, knowledge.ErrInvalid) {
			t.Errorf("%.20q: %v", q.Text, err)
		}
	}
	if hits := h.search(h.ann, strings.Repeat("mainsail boat anchor many words ", 400)); found(hits) != "a.md" {
		t.Errorf("a long question found %q", found(hits))
	}
}

func TestOtherScriptsAndUnstemmedWordsAreFound(t *testing.T) {
	h := newHouse(t)
	h.add(h.ann, "ja.md", "# 船の隔壁\n\n隔壁は船体を区画に分ける。カタカナ。\n")
	h.add(h.ann, "zh.md", "# 搜索\n\n舱壁把船体分成水密隔舱。\n")
	h.add(h.ann, "de.md", "# Schotten\n\nDas Schott teilt den Rumpf; Größe zählt.\n")
	h.add(h.ann, "ru.md", "# Корабль\n\nПереборка делит корпус.\n")
	h.add(h.ann, "ko.md", "# 선박\n\n격벽은 선체를 나눈다.\n")
	h.add(h.ann, "go.md", "# API\n\nCall parse_manifest before http.Handler; the captain's ＷＩＤＥ HTTP2.\n")
	for q, want := range map[string]string{
		"隔壁": "ja.md", "水密": "zh.md", "舱": "zh.md", "größe": "de.md", "ПЕРЕБОРКА": "ru.md", "격벽은": "ko.md",
		"parse_manifest": "go.md", "manifest": "go.md", "handler": "go.md", "http": "go.md", "wide": "go.md",
		"captain": "go.md", "http2": "go.md", "カタカナ": "ja.md",
	} {
		if got := found(h.search(h.ann, q)); !strings.HasPrefix(got, want) {
			t.Errorf("%q found %q, want %q", q, got, want)
		}
	}
}

func TestExactWordBeatsItsStem(t *testing.T) {
	h := newHouse(t)
	h.add(h.ann, "a.txt", "the organization of the fleet")
	h.add(h.ann, "b.txt", "the organs of the fleet")
	h.add(h.ann, "c.txt", "the organize of the fleet")
	if got := found(h.search(h.ann, "organize")); !strings.HasPrefix(got, "c.txt") {
		t.Fatalf("found %q", got)
	}
}

func TestTitleAndSectionWeighMore(t *testing.T) {
	h := newHouse(t)
	h.add(h.ann, "1.md", "# Cargo\n\nThe anchor lies here with rope and chain.\n")
	h.add(h.ann, "2.md", "# Anchor\n\nThe cargo lies here with rope and chain.\n")
	if got := found(h.search(h.ann, "anchor")); got != "2.md 1.md" {
		t.Fatalf("found %q", got)
	}
}

func TestEqualHitsComeInTheOrderOfIDs(t *testing.T) {
	h := newHouse(t)
	for i := range 30 {
		h.add(h.ann, fmt.Sprintf("%d.txt", i), "the very same text about a capstan")
	}
	first, err := h.base.Search(t.Context(), h.ann, knowledge.Query{Text: "capstan", Limit: 100})
	if err != nil || len(first) != 30 {
		t.Fatalf("%d hits, %v", len(first), err)
	}
	for i := 1; i < len(first); i++ {
		if first[i-1].Score == first[i].Score && first[i-1].ChunkID >= first[i].ChunkID {
			t.Fatalf("hit %d: %s before %s", i, first[i-1].ChunkID, first[i].ChunkID)
		}
	}
	again, err := h.base.Search(t.Context(), h.ann, knowledge.Query{Text: "capstan", Limit: 100})
	if err != nil || !reflect.DeepEqual(first, again) {
		t.Fatalf("a second search differs, %v", err)
	}
}

func TestSnippetIsShortAndShowsTheDensestPart(t *testing.T) {
	h := newHouse(t)
	filler := strings.Repeat("Filler about nothing much at all with a compass. ", 9)
	h.add(h.ann, "a.md", filler+"\n\nThe **sextant** and the `compass` measure [stars](http://x.y).\n\n"+filler)
	hits := h.search(h.ann, "sextant compass stars")
	if len(hits) == 0 {
		t.Fatal("nothing found")
	}
	s := hits[0].Snippet
	if n := utf8.RuneCountInString(s); n > 240 || !strings.Contains(s, "The sextant and the compass measure stars.") ||
		!strings.HasPrefix(s, "… ") || !strings.HasSuffix(s, " …") {
		t.Fatalf("%d code points: %q", n, s)
	}
	h.add(h.ann, "b.txt", strings.Repeat("界", 1500)+"灯台"+strings.Repeat("界", 300))
	if s := h.search(h.ann, "灯台")[0].Snippet; utf8.RuneCountInString(s) > 240 || !strings.Contains(s, "灯台") {
		t.Fatalf("snippet %q", s)
	}
}

func TestOpenRepairsTheIndex(t *testing.T) {
	h := newHouse(t)
	kept := h.add(h.ann, "kept.md", "# Kept\n\nbinnacle\n")
	gone := h.add(h.bob, "gone.md", "# Gone\n\nbinnacle\n")
	old := h.add(h.ann, "old.md", "# Old\n\nrudder\n")
	h.close()
	// What a crash between store and index leaves behind.
	if err := h.store.Documents().Delete(t.Context(), h.bob, gone.ID); err != nil {
		t.Fatal(err)
	}
	r, err := h.store.Documents().Get(t.Context(), h.ann, old.ID)
	if err != nil {
		t.Fatal(err)
	}
	r.SHA256, r.Title = "other", "Newer"
	if _, err := h.store.Documents().Put(t.Context(), h.ann, r, []byte("# Newer\n\ntiller\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := h.store.Documents().Put(t.Context(), h.bob,
		store.DocumentRecord{URI: "missing.html", MediaType: "text/html", Title: "Missing", SHA256: "x"},
		[]byte("scupper\n")); err != nil {
		t.Fatal(err)
	}
	h.open()
	for _, c := range []struct {
		p       identity.Principal
		q, want string
	}{{h.ann, "binnacle", "kept.md"}, {h.bob, "binnacle", ""}, {h.ann, "rudder", ""}, {h.ann, "tiller newer", "old.md"},
		{h.bob, "scupper", "missing.html"}} {
		if got := found(h.search(c.p, c.q)); got != c.want {
			t.Errorf("%q found %q, want %q", c.q, got, c.want)
		}
	}
	did, err := h.base.Reindex(t.Context(), identity.ForHost("a test"))
	if err != nil || did != (knowledge.Reindexed{Checked: 3}) {
		t.Errorf("a second look: %+v, %v", did, err)
	}
	if kept.ID == "" {
		t.Error("no id")
	}
}

func TestLostDamagedOrOlderIndexIsBuiltAnew(t *testing.T) {
	for name, harm := range map[string]func(dir string) error{
		"lost": os.RemoveAll,
		"older version": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "version"), []byte("0"),
				0o600)
		},
		"no version":  func(dir string) error { return os.Remove(filepath.Join(dir, "version")) },
		"no metadata": func(dir string) error { return os.Remove(filepath.Join(dir, "bleve", "index_meta.json")) },
		"bad metadata": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "bleve", "index_meta.json"), []byte("{"), 0o600)
		},
		"no store": func(dir string) error { return os.RemoveAll(filepath.Join(dir, "bleve", "store")) },
		"bad root": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "bleve", "store", "root.bolt"), []byte(strings.Repeat("junk", 5000)),
				0o600)
		},
		"no segments": func(dir string) error {
			files, err := filepath.Glob(filepath.Join(dir, "bleve", "store", "*.zap"))
			for _, f := range files {
				err = errors.Join(err, os.Remove(f))
			}
			return err
		},
		"cut segments": func(dir string) error {
			files, err := filepath.Glob(filepath.Join(dir, "bleve", "store", "*.zap"))
			for _, f := range files {
				err = errors.Join(err, os.Truncate(f, 10))
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			h.add(h.ann, "a.md", "# A\n\nbinnacle\n")
			h.close()
			if err := harm(filepath.Join(h.dir, "index")); err != nil {
				t.Fatal(err)
			}
			h.open()
			if got := found(h.search(h.ann, "binnacle")); got != "a.md" {
				t.Fatalf("found %q", got)
			}
			if a := h.add(h.ann, "b.md", "# B\n\nhalyard\n"); a.Status != knowledge.StatusAdded {
				t.Fatalf("added %+v", a)
			}
		})
	}
}

func TestSecondProcessIsToldThatTheIndexIsInUse(t *testing.T) {
	h := newHouse(t)
	_, err := knowledge.Open(t.Context(), knowledge.Config{Dir: filepath.Join(h.dir, "index"),
		Documents: h.store.Documents(), People: h.store.Users()})
	if !errors.Is(err, knowledge.ErrInUse) {
		t.Fatalf("got %v", err)
	}
	h.add(h.ann, "a.md", "# A\n\nstill works\n")
}

func TestClosedBaseSaysSo(t *testing.T) {
	h := newHouse(t)
	h.close()
	h.close()
	_, addErr := h.base.Add(t.Context(), h.ann, knowledge.Source{URI: "a.md"})
	_, searchErr := h.base.Search(t.Context(), h.ann, knowledge.Query{Text: "a"})
	_, listErr := h.base.List(t.Context(), h.ann)
	for i, err := range []error{addErr, searchErr, listErr, h.base.Remove(t.Context(), h.ann, "x")} {
		if !errors.Is(err, knowledge.ErrClosed) {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

func TestEndedContextStopsCalls(t *testing.T) {
	h := newHouse(t)
	h.add(h.ann, "a.md", "# A\n\nbinnacle\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.base.Search(ctx, h.ann, knowledge.Query{Text: "binnacle"}); !errors.Is(err, context.Canceled) {
		t.Errorf("search: %v", err)
	}
	if _, err := h.base.Add(ctx, h.ann, knowledge.Source{URI: "b.md", Data: []byte("x")}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("add: %v", err)
	}
}

// TestReadersSeeOldOrNewPassages replaces a document whose every passage says
// its revision, while readers search: no answer may mix two revisions.
func TestReadersSeeOldOrNewPassages(t *testing.T) {
	h := newHouse(t)
	revision := func(i int) string {
		return strings.Repeat(fmt.Sprintf("revision%d of the logbook. ", i)+strings.Repeat("More words follow here. ",
			60)+"\n\n", 5)
	}
	h.add(h.ann, "log.txt", revision(0))
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				hits, err := h.base.Search(t.Context(), h.ann, knowledge.Query{Text: "logbook", Limit: 50})
				if err != nil || len(hits) == 0 {
					t.Errorf("%d hits, %v", len(hits), err)
					return
				}
				for _, x := range hits {
					if a, b := strings.Fields(x.Content)[0], strings.Fields(hits[0].Content)[0]; a != b {
						t.Errorf("one answer has %s and %s", a, b)
						return
					}
				}
			}
		})
	}
	for i := 1; i <= 30; i++ {
		h.add(h.ann, "log.txt", revision(i))
	}
	close(stop)
	readers.Wait()
}

func TestManyAddAtOnce(t *testing.T) {
	h := newHouse(t)
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			for j := range 6 {
				uri := fmt.Sprintf("%d.md", (i+j)%6)
				if _, err := h.base.Add(t.Context(), h.ann,
					knowledge.Source{URI: uri, Data: []byte(fmt.Sprintf("# D%d\n\nbowsprit %s\n", i,
						uri))}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	if docs, err := h.base.List(t.Context(), h.ann); err != nil || len(docs) != 6 {
		t.Fatalf("%d documents, %v", len(docs), err)
	}
	if hits := h.search(h.ann, "bowsprit"); len(hits) != 6 {
		t.Fatalf("%d hits", len(hits))
	}
}
