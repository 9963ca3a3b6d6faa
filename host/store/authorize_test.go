package store

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/identity"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
)

// unasked are the methods that ask identity nothing, each with the reason.
var unasked = map[string]string{
	"Users.Get":            "it is asked by those who find out who somebody is",
	"Users.ByName":         "it is asked by those who find out who somebody is",
	"SignIns.UserByCookie": "the cookie is the proof",
	"SignIns.RedeemLink":   "the link is the proof; it asks as the link's user",
	"Users.EnsureOwner":    "it is the host's own first start; it asks as the host",
	"Runs.Finish":          "the writer of a run that was allowed to begin",
	"DB":                   "what rooms whose records share the transactions stand on",
	"Space":                "a room's own storage, behind that room",
	"Check":                "it names records and shows none",
	"Close":                "no operation on a record",
	"Path":                 "no operation on a record",
}

// tried is one call of each method that takes a Principal, and what it would do to ada's
// records, or to those that are everybody's.
type tried struct {
	who  identity.Who
	call func(identity.Principal) error
}

// records are the ids of one record of each kind, and what is asked for otherwise.
type records struct{ user, session, message, run, doc, uri, memory, file, picture, agent, cookie string }

// callsOn is everything that can be tried on some records.
func callsOn(t *testing.T, s *Store, r records) map[string]tried {
	ctx := t.Context()
	begin := func(in BeginRun) func(identity.Principal) error {
		in.Models = []string{"m"}
		return func(p identity.Principal) error { return second(s.Runs().Begin(ctx, p, in)) }
	}
	owner := func(call func(p identity.Principal) error) tried { return tried{identity.Owner, call} }
	signedIn := func(call func(p identity.Principal) error) tried { return tried{identity.SignedIn, call} }
	operators := func(call func(p identity.Principal) error) tried { return tried{identity.Operators, call} }
	type P = identity.Principal
	return map[string]tried{
		"Sessions.Get": owner(func(p P) error { return second(s.Sessions().Get(ctx, p, r.session)) }),
		"Sessions.Rename": owner(func(p P) error {
			return second(s.Sessions().Rename(ctx, p, r.session,
				"x"))
		}),
		"Sessions.Pin": owner(func(p P) error {
			return second(s.Sessions().Pin(ctx, p, r.session,
				true))
		}),
		"Sessions.Delete": owner(func(p P) error { return s.Sessions().Delete(ctx, p, r.session) }),
		"Sessions.SelectLeaf": owner(func(p P) error {
			return second(s.Sessions().SelectLeaf(ctx, p, r.session,
				r.message))
		}),
		"Sessions.List, after another": owner(func(p P) error {
			return second(s.Sessions().List(ctx, p, 0,
				r.session))
		}),
		"Messages.List": owner(func(p P) error { return second(s.Messages().List(ctx, p, r.session)) }),
		"Messages.Get":  owner(func(p P) error { return second(s.Messages().Get(ctx, p, r.message)) }),
		"Messages.Branch": owner(func(p P) error {
			return second(s.Messages().Branch(ctx, p, r.session,
				r.message))
		}),
		"Runs.Begin":        owner(begin(BeginRun{SessionID: r.session})),
		"Runs.Begin, again": owner(begin(BeginRun{Regenerate: r.message})),
		"Runs.Begin, on":    owner(begin(BeginRun{Continue: r.message})),
		"Runs.Begin, file":  owner(begin(BeginRun{Files: []string{r.file}})),
		"Runs.Get":          owner(func(p P) error { return second(s.Runs().Get(ctx, p, r.run)) }),
		"Runs.Live":         owner(func(p P) error { return second(s.Runs().Live(ctx, p, r.session)) }),
		"Runs.Latest":       owner(func(p P) error { return second(s.Runs().Latest(ctx, p, r.session)) }),
		"Documents.Get":     owner(func(p P) error { return second(s.Documents().Get(ctx, p, r.doc)) }),
		"Documents.Text":    owner(func(p P) error { return second(s.Documents().Text(ctx, p, r.doc)) }),
		"Documents.Find":    owner(func(p P) error { return second(s.Documents().Find(ctx, p, r.uri)) }),
		"Documents.Put": owner(func(p P) error {
			return second(s.Documents().Put(ctx, p, DocumentRecord{ID: r.doc, URI: "/other.md"}, []byte("x")))
		}),
		"Documents.Delete": owner(func(p P) error { return s.Documents().Delete(ctx, p, r.doc) }),
		"Memories.Update": owner(func(p P) error {
			return second(s.Memories().Update(ctx, p, r.memory, "x", "",
				nil))
		}),
		"Memories.Delete": owner(func(p P) error { return second(s.Memories().Delete(ctx, p, r.memory)) }),
		"Files.Get":       owner(func(p P) error { return second(s.Files().Get(ctx, p, r.file)) }),
		"Files.Text":      owner(func(p P) error { return second(s.Files().Text(ctx, p, r.file)) }),
		"Files.Picture":   owner(func(p P) error { return second(s.Files().Picture(ctx, p, r.picture)) }),
		"Files.Delete":    owner(func(p P) error { return s.Files().Delete(ctx, p, r.file) }),

		"Sessions.List":  signedIn(func(p P) error { return none(s.Sessions().List(ctx, p, 0, "")) }),
		"Documents.List": signedIn(func(p P) error { return none(s.Documents().List(ctx, p)) }),
		"Memories.List":  signedIn(func(p P) error { return none(s.Memories().List(ctx, p)) }),
		"Files.List":     signedIn(func(p P) error { return none(s.Files().List(ctx, p)) }),
		"Runs.Repeated": signedIn(func(p P) error {
			_, _, err := s.Runs().Repeated(ctx, p, BeginRun{RequestID: "r"})
			return err
		}),
		"Memories.Add": signedIn(func(p P) error {
			_, _,
				err := s.Memories().Add(ctx, p, Memory{Text: "x"})
			return err
		}),
		"Files.Add": signedIn(func(p P) error { return second(s.Files().Add(ctx, p, File{Name: "x"}, nil)) }),
		"Files.AddPicture": signedIn(func(p P) error {
			return second(s.Files().AddPicture(ctx, p, File{Name: "x", Width: 1, Height: 1}, []byte("x")))
		}),
		"Agents.Get":  signedIn(func(p P) error { return second(s.Agents().Get(ctx, p, r.agent)) }),
		"Agents.List": signedIn(func(p P) error { return second(s.Agents().List(ctx, p)) }),

		"Agents.Create": operators(func(p P) error { return second(s.Agents().Create(ctx, p, Agent{Name: "x"})) }),
		"Agents.Change": operators(func(p P) error {
			return second(s.Agents().Change(ctx, p, r.agent,
				func(*Agent) {}))
		}),
		"Agents.Delete": operators(func(p P) error { return s.Agents().Delete(ctx, p, r.agent) }),
		"Users.List":    operators(func(p P) error { return second(s.Users().List(ctx, p)) }),
		"Users.Create":  operators(func(p P) error { return second(s.Users().Create(ctx, p, "x", true)) }),
		"SignIns.CreateLink": operators(func(p P) error {
			_, _,
				err := s.SignIns().CreateLink(ctx, p, r.user, time.Hour)
			return err
		}),
		"Users.Remove": operators(func(p P) error { return s.Users().Remove(ctx, p, r.user) }),

		"SignIns.RevokeUser": {identity.OwnerOrOperator,
			func(p P) error { return s.SignIns().RevokeUser(ctx, p, r.user) }},
		"SignIns.RevokeCookie": owner(func(p P) error { return s.SignIns().RevokeCookie(ctx, p, r.cookie) }),
		"Runs.Unfinished":      {identity.HostOnly, func(p P) error { return second(s.Runs().Unfinished(ctx, p)) }},
	}
}

// none wants a list to be empty.
func none[T any](list []T, err error) error {
	if len(list) > 0 {
		return errors.New("it shows what is somebody else's")
	}
	return err
}

// TestTheStoreRefusesByItself calls every method on the records of ada, as nobody, as
// somebody else, as an operator who owns other records, as the host for somebody else, and
// as the host. What is refused changes nothing.
func TestTheStoreRefusesByItself(t *testing.T) {
	s := openTest(t, Options{})
	ada, eve := newUser(t, s, "ada"), newUser(t, s, "eve")
	u, err := s.Users().Create(t.Context(), anOperator, "op", true)
	if err != nil {
		t.Fatal(err)
	}
	op := u.Principal(identity.Command)
	complete(t, s, ask(t, s, op, "", "mine"), "yours")
	b := ask(t, s, ada, "", "hello")
	complete(t, s, b, "hi")
	doc, err1 := s.Documents().Put(t.Context(), ada, DocumentRecord{URI: "/a.md"}, []byte("text"))
	memory, _, err2 := s.Memories().Add(t.Context(), ada, Memory{Text: "I drink tea."})
	file, err3 := s.Files().Add(t.Context(), ada, File{Name: "a.txt"}, []byte("text"))
	picture, err4 := s.Files().AddPicture(t.Context(), ada, File{Name: "a.png", Width: 1, Height: 1}, []byte("p"))
	agent, err5 := s.Agents().Create(t.Context(), anOperator, Agent{Name: "Tutor"})
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}
	cookie := signIn(t, s, ada)
	there := callsOn(t, s, records{ada.UserID(), b.Session.ID, b.Responses[0].ID, b.Run.ID, doc.ID, doc.URI,
		memory.ID, file.ID, picture.ID, agent.ID, cookie})
	gone := callsOn(t, s, records{"u_gone", "s_gone", "m_gone", "r_gone", "d_gone", "/gone.md",
		"mem_gone", "f_gone", "f_gone", agent.ID, cookie})
	for _, kind := range []reflect.Type{reflect.TypeFor[Agents](), reflect.TypeFor[Documents](),
		reflect.TypeFor[Files](),
		reflect.TypeFor[Memories](), reflect.TypeFor[Messages](), reflect.TypeFor[Runs](), reflect.TypeFor[Sessions](),
		reflect.TypeFor[SignIns](), reflect.TypeFor[Users]()} {
		if _, is := reflect.TypeFor[*Store]().MethodByName(kind.Name()); !is {
			t.Errorf("the Store has no %s", kind.Name())
		}
		for i := range kind.NumMethod() {
			m := kind.Method(i)
			name := kind.Name() + "." + m.Name
			asks := m.Type.NumIn() > 2 && m.Type.In(2) == reflect.TypeFor[identity.Principal]()
			if _, free := unasked[name]; asks == free {
				t.Errorf("%s takes a Principal: %v, and is said to ask nothing: %v", name, asks, free)
			}
			if _, is := there[name]; asks && !is {
				t.Errorf("%s is not tried", name)
			}
		}
	}
	store := reflect.TypeFor[*Store]()
	for i := range store.NumMethod() {
		m := store.Method(i)
		if _, free := unasked[m.Name]; !free && (m.Type.NumIn() != 1 || m.Type.Out(0).NumMethod() == 0) {
			t.Errorf("%s is no kind of records, and not said to ask nothing", m.Name)
		}
	}
	stranger := map[identity.Who]error{identity.Owner: ErrNotFound, identity.Operators: identity.ErrForbidden,
		identity.OwnerOrOperator: ErrNotFound, identity.HostOnly: identity.ErrForbidden}
	for _, c := range []struct {
		name string
		p    identity.Principal
		// refused is what each call wants, by whom it is for; nil for one that may do it.
		refused map[identity.Who]error
	}{
		{"nobody", identity.Principal{}, map[identity.Who]error{
			identity.Owner: identity.ErrNobody, identity.SignedIn: identity.ErrNobody,
			identity.HostOnly: identity.ErrNobody, identity.Operators: identity.ErrNobody,
			identity.OwnerOrOperator: identity.ErrNobody}},
		{"eve", eve, stranger},
		{"the host for eve", identity.ForUser(eve.UserID(), "a test"), stranger},
		{"an operator", op, map[identity.Who]error{
			identity.Owner: ErrNotFound, identity.HostOnly: identity.ErrForbidden}},
	} {
		before := contents(t, s)
		for _, name := range slices.Sorted(maps.Keys(there)) {
			want := c.refused[there[name].who]
			if want == nil {
				continue
			}
			err := there[name].call(c.p)
			if !errors.Is(err, want) {
				t.Errorf("%s as %s: %v, want %v", name, c.name, err, want)
			}
			if name == "SignIns.RevokeCookie" || name == "Documents.Put" { // a cookie is no id, and a free id can be taken
				continue
			}
			if missing := gone[name].call(c.p); !errors.Is(missing, want) {
				t.Errorf("%s as %s: %v where there is none, want %v", name, c.name, missing, want)
			}
		}
		if after := contents(t, s); !maps.Equal(before, after) {
			t.Errorf("what %s was refused changed the store", c.name)
		}
	}
	for name, call := range there {
		if call.who != identity.SignedIn {
			continue
		}
		if err := call.call(identity.ForHost("a test")); !errors.Is(err, identity.ErrForbidden) {
			t.Errorf("%s as the host: %v", name, err)
		}
	}
	for _, name := range []string{"Sessions.List", "Documents.List", "Memories.List", "Files.List"} {
		if err := there[name].call(eve); err != nil {
			t.Errorf("%s as eve: %v", name, err)
		}
	}
	for _, name := range []string{"Agents.Change", "SignIns.CreateLink", "SignIns.RevokeUser", "Users.Remove",
		"Agents.Delete"} {
		if err := there[name].call(op); err != nil {
			t.Errorf("%s as an operator: %v", name, err)
		}
	}
	expectSound(t, s)
}

// TestTheOwnerMay tries the same calls as ada, in an order in which each finds its record.
func TestTheOwnerMay(t *testing.T) {
	s := openTest(t, Options{})
	ada := newUser(t, s, "ada")
	b := ask(t, s, ada, "", "hello")
	doc, err1 := s.Documents().Put(t.Context(), ada, DocumentRecord{URI: "/a.md"}, []byte("text"))
	memory, _, err2 := s.Memories().Add(t.Context(), ada, Memory{Text: "I drink tea."})
	file, err3 := s.Files().Add(t.Context(), ada, File{Name: "a.txt"}, []byte("text"))
	picture, err4 := s.Files().AddPicture(t.Context(), ada, File{Name: "a.png", Width: 1, Height: 1}, []byte("p"))
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	calls := callsOn(t, s, records{ada.UserID(), b.Session.ID, b.Responses[0].ID, b.Run.ID, doc.ID, doc.URI,
		memory.ID, file.ID, picture.ID, "", signIn(t, s, ada)})
	for _, name := range []string{
		"Sessions.Get", "Sessions.Rename", "Sessions.Pin", "Sessions.SelectLeaf", "Messages.List", "Messages.Get",
		"Messages.Branch", "Runs.Get", "Runs.Live",
		"Runs.Latest", "Documents.Get", "Documents.Text", "Documents.Find", "Memories.Update", "Files.Get",
		"Files.Text", "Files.Picture", "Runs.Repeated", "Memories.Add", "Files.Add", "Files.AddPicture", "Agents.List",
		"Documents.Delete",
		"Memories.Delete", "Files.Delete", "SignIns.RevokeCookie", "SignIns.RevokeUser",
	} {
		if err := calls[name].call(ada); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := calls["Runs.Begin"].call(ada); !errors.Is(err, ErrBusy) {
		t.Errorf("BeginRun: %v, want ErrBusy of the live run", err)
	}
	complete(t, s, b, "hi")
	if err := calls["Sessions.Delete"].call(ada); err != nil {
		t.Errorf("DeleteSession: %v", err)
	}
}

// contents is every record of the store.
func contents(t *testing.T, s *Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := s.view(t.Context(), func(tx kv.Tx) error {
		for _, each := range tx.Tables() {
			if len(tx.Inside(each)) > 0 { // tables of tables
				continue
			}
			err := tx.Scan(each, "", func(key string, value []byte) bool {
				all[string(each)+"/"+key] = string(value)
				return true
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
