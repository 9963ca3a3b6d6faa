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
	"User":         "it is asked by those who find out who somebody is",
	"UserByName":   "it is asked by those who find out who somebody is",
	"UserByCookie": "the cookie is the proof",
	"RedeemLink":   "the link is the proof; it asks as the link's user",
	"EnsureOwner":  "it is the host's own first start; it asks as the host",
	"FinishRun":    "the writer of a run that was allowed to begin",
	"DB":           "what rooms whose records share the transactions stand on",
	"Space":        "a room's own storage, behind that room",
	"Check":        "it names records and shows none",
	"Close":        "no operation on a record",
	"Path":         "no operation on a record",
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
		return func(p identity.Principal) error { return second(s.BeginRun(ctx, p, in)) }
	}
	owner := func(call func(p identity.Principal) error) tried { return tried{identity.Owner, call} }
	signedIn := func(call func(p identity.Principal) error) tried { return tried{identity.SignedIn, call} }
	operators := func(call func(p identity.Principal) error) tried { return tried{identity.Operators, call} }
	type P = identity.Principal
	return map[string]tried{
		"Session":                 owner(func(p P) error { return second(s.Session(ctx, p, r.session)) }),
		"RenameSession":           owner(func(p P) error { return second(s.RenameSession(ctx, p, r.session, "x")) }),
		"PinSession":              owner(func(p P) error { return second(s.PinSession(ctx, p, r.session, true)) }),
		"DeleteSession":           owner(func(p P) error { return s.DeleteSession(ctx, p, r.session) }),
		"SelectLeaf":              owner(func(p P) error { return second(s.SelectLeaf(ctx, p, r.session, r.message)) }),
		"Sessions, after another": owner(func(p P) error { return second(s.Sessions(ctx, p, 0, r.session)) }),
		"Messages":                owner(func(p P) error { return second(s.Messages(ctx, p, r.session)) }),
		"Message":                 owner(func(p P) error { return second(s.Message(ctx, p, r.message)) }),
		"Branch":                  owner(func(p P) error { return second(s.Branch(ctx, p, r.session, r.message)) }),
		"BeginRun":                owner(begin(BeginRun{SessionID: r.session})),
		"BeginRun, again":         owner(begin(BeginRun{Regenerate: r.message})),
		"BeginRun, on":            owner(begin(BeginRun{Continue: r.message})),
		"BeginRun, file":          owner(begin(BeginRun{Files: []string{r.file}})),
		"Run":                     owner(func(p P) error { return second(s.Run(ctx, p, r.run)) }),
		"LiveRun":                 owner(func(p P) error { return second(s.LiveRun(ctx, p, r.session)) }),
		"LatestRun":               owner(func(p P) error { return second(s.LatestRun(ctx, p, r.session)) }),
		"Document":                owner(func(p P) error { return second(s.Document(ctx, p, r.doc)) }),
		"DocumentText":            owner(func(p P) error { return second(s.DocumentText(ctx, p, r.doc)) }),
		"FindDocument":            owner(func(p P) error { return second(s.FindDocument(ctx, p, r.uri)) }),
		"PutDocument": owner(func(p P) error {
			return second(s.PutDocument(ctx, p, DocumentRecord{ID: r.doc, URI: "/other.md"}, []byte("x")))
		}),
		"DeleteDocument": owner(func(p P) error { return s.DeleteDocument(ctx, p, r.doc) }),
		"UpdateMemory":   owner(func(p P) error { return second(s.UpdateMemory(ctx, p, r.memory, "x", "", nil)) }),
		"DeleteMemory":   owner(func(p P) error { return second(s.DeleteMemory(ctx, p, r.memory)) }),
		"File":           owner(func(p P) error { return second(s.File(ctx, p, r.file)) }),
		"FileText":       owner(func(p P) error { return second(s.FileText(ctx, p, r.file)) }),
		"FilePicture":    owner(func(p P) error { return second(s.FilePicture(ctx, p, r.picture)) }),
		"DeleteFile":     owner(func(p P) error { return s.DeleteFile(ctx, p, r.file) }),

		"Sessions":  signedIn(func(p P) error { return none(s.Sessions(ctx, p, 0, "")) }),
		"Documents": signedIn(func(p P) error { return none(s.Documents(ctx, p)) }),
		"Memories":  signedIn(func(p P) error { return none(s.Memories(ctx, p)) }),
		"Files":     signedIn(func(p P) error { return none(s.Files(ctx, p)) }),
		"Repeated": signedIn(func(p P) error {
			_, _, err := s.Repeated(ctx, p, BeginRun{RequestID: "r"})
			return err
		}),
		"AddMemory": signedIn(func(p P) error { _, _, err := s.AddMemory(ctx, p, Memory{Text: "x"}); return err }),
		"AddFile":   signedIn(func(p P) error { return second(s.AddFile(ctx, p, File{Name: "x"}, nil)) }),
		"AddPicture": signedIn(func(p P) error {
			return second(s.AddPicture(ctx, p, File{Name: "x", Width: 1, Height: 1}, []byte("x")))
		}),
		"Agent":  signedIn(func(p P) error { return second(s.Agent(ctx, p, r.agent)) }),
		"Agents": signedIn(func(p P) error { return second(s.Agents(ctx, p)) }),

		"CreateAgent": operators(func(p P) error { return second(s.CreateAgent(ctx, p, Agent{Name: "x"})) }),
		"ChangeAgent": operators(func(p P) error { return second(s.ChangeAgent(ctx, p, r.agent, func(*Agent) {})) }),
		"DeleteAgent": operators(func(p P) error { return s.DeleteAgent(ctx, p, r.agent) }),
		"Users":       operators(func(p P) error { return second(s.Users(ctx, p)) }),
		"CreateUser":  operators(func(p P) error { return second(s.CreateUser(ctx, p, "x", true)) }),
		"CreateLink":  operators(func(p P) error { _, _, err := s.CreateLink(ctx, p, r.user, time.Hour); return err }),
		"RemoveUser":  operators(func(p P) error { return s.RemoveUser(ctx, p, r.user) }),

		"RevokeUser":     {identity.OwnerOrOperator, func(p P) error { return s.RevokeUser(ctx, p, r.user) }},
		"RevokeCookie":   owner(func(p P) error { return s.RevokeCookie(ctx, p, r.cookie) }),
		"UnfinishedRuns": {identity.HostOnly, func(p P) error { return second(s.UnfinishedRuns(ctx, p)) }},
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
	u, err := s.CreateUser(t.Context(), anOperator, "op", true)
	if err != nil {
		t.Fatal(err)
	}
	op := u.Principal(identity.Command)
	complete(t, s, ask(t, s, op, "", "mine"), "yours")
	b := ask(t, s, ada, "", "hello")
	complete(t, s, b, "hi")
	doc, err1 := s.PutDocument(t.Context(), ada, DocumentRecord{URI: "/a.md"}, []byte("text"))
	memory, _, err2 := s.AddMemory(t.Context(), ada, Memory{Text: "I drink tea."})
	file, err3 := s.AddFile(t.Context(), ada, File{Name: "a.txt"}, []byte("text"))
	picture, err4 := s.AddPicture(t.Context(), ada, File{Name: "a.png", Width: 1, Height: 1}, []byte("p"))
	agent, err5 := s.CreateAgent(t.Context(), anOperator, Agent{Name: "Tutor"})
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}
	cookie := signIn(t, s, ada)
	there := callsOn(t, s, records{ada.UserID(), b.Session.ID, b.Responses[0].ID, b.Run.ID, doc.ID, doc.URI,
		memory.ID, file.ID, picture.ID, agent.ID, cookie})
	gone := callsOn(t, s, records{"u_gone", "s_gone", "m_gone", "r_gone", "d_gone", "/gone.md",
		"mem_gone", "f_gone", "f_gone", agent.ID, cookie})
	kinds := reflect.TypeFor[*Store]()
	for i := range kinds.NumMethod() {
		m := kinds.Method(i)
		asks := m.Type.NumIn() > 2 && m.Type.In(2) == reflect.TypeFor[identity.Principal]()
		if _, free := unasked[m.Name]; asks == free {
			t.Errorf("%s takes a Principal: %v, and is said to ask nothing: %v", m.Name, asks, free)
		}
		if _, is := there[m.Name]; asks && !is {
			t.Errorf("%s is not tried", m.Name)
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
			if name == "RevokeCookie" || name == "PutDocument" { // a cookie is no id, and a free id can be taken
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
	for _, name := range []string{"Sessions", "Documents", "Memories", "Files"} {
		if err := there[name].call(eve); err != nil {
			t.Errorf("%s as eve: %v", name, err)
		}
	}
	for _, name := range []string{"ChangeAgent", "CreateLink", "RevokeUser", "RemoveUser", "DeleteAgent"} {
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
	doc, err1 := s.PutDocument(t.Context(), ada, DocumentRecord{URI: "/a.md"}, []byte("text"))
	memory, _, err2 := s.AddMemory(t.Context(), ada, Memory{Text: "I drink tea."})
	file, err3 := s.AddFile(t.Context(), ada, File{Name: "a.txt"}, []byte("text"))
	picture, err4 := s.AddPicture(t.Context(), ada, File{Name: "a.png", Width: 1, Height: 1}, []byte("p"))
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	calls := callsOn(t, s, records{ada.UserID(), b.Session.ID, b.Responses[0].ID, b.Run.ID, doc.ID, doc.URI,
		memory.ID, file.ID, picture.ID, "", signIn(t, s, ada)})
	for _, name := range []string{
		"Session", "RenameSession", "PinSession", "SelectLeaf", "Messages", "Message", "Branch", "Run", "LiveRun",
		"LatestRun", "Document", "DocumentText", "FindDocument", "UpdateMemory", "File",
		"FileText", "FilePicture", "Repeated", "AddMemory", "AddFile", "AddPicture", "Agents", "DeleteDocument",
		"DeleteMemory", "DeleteFile", "RevokeCookie", "RevokeUser",
	} {
		if err := calls[name].call(ada); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := calls["BeginRun"].call(ada); !errors.Is(err, ErrBusy) {
		t.Errorf("BeginRun: %v, want ErrBusy of the live run", err)
	}
	complete(t, s, b, "hi")
	if err := calls["DeleteSession"].call(ada); err != nil {
		t.Errorf("DeleteSession: %v", err)
	}
}

// contents is every record of the store.
func contents(t *testing.T, s *Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := s.view(t.Context(), func(tx kv.Tx) error {
		for _, table := range tx.Tables() {
			if len(tx.Inside(table)) > 0 { // tables of tables
				continue
			}
			err := tx.Scan(table, "", func(key string, value []byte) bool {
				all[string(table)+"/"+key] = string(value)
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
