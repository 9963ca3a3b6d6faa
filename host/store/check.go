package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
	"github.com/bulkhead-host/bulkhead/host/store/request"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

// Problem is something that Check found.
type Problem struct {
	// Table and Key name the record, "" for the file as a whole.
	Table, Key string
	// Message says what is wrong with it.
	Message string
}

// Check reads the whole file and returns what is wrong with it: pages that make
// no sense, records that cannot be read, and records that do not fit together.
// Nothing can be written while it runs.
func (s *Store) Check(ctx context.Context) []Problem {
	c := &checker{}
	records := func(tx kv.Tx) error {
		c.tx = tx
		for _, check := range []func(){c.users, c.sessions, c.messages, c.runs, c.documents, c.memories, c.files,
			c.agents} {
			if err := ctx.Err(); err != nil {
				return err
			}
			check()
		}
		return nil
	}
	check := s.view
	if file, ok := s.db.(*kv.Bolt); ok {
		check = func(_ context.Context, fn func(kv.Tx) error) error {
			return file.Check(func(err error) { c.add("", "", "%v", err) }, fn)
		}
	}
	if err := check(ctx, records); err != nil {
		c.add("", "", "the check did not come to its end: %v", err)
	}
	return c.problems
}

// checker collects problems.
type checker struct {
	tx       kv.Tx
	problems []Problem
}

func (c *checker) add(t table.Name, key, format string, args ...any) {
	c.problems = append(c.problems, Problem{Table: string(t), Key: key, Message: fmt.Sprintf(format, args...)})
}

// expect adds a problem unless ok.
func (c *checker) expect(ok bool, t table.Name, key, format string, args ...any) {
	if !ok {
		c.add(t, key, format, args...)
	}
}

// each visits the records of a table.Name that can be read.
func each[T any](c *checker, t table.Name, visit func(key string, v T)) {
	t.Scan(c.tx, "", func(key string, data []byte) bool {
		v, err := table.Decode[T](t, key, data)
		if err != nil {
			c.add(t, key, "it cannot be read: %v", errors.Unwrap(err))
		} else {
			visit(key, v)
		}
		return true
	})
}

// index visits the entries of an index and expects each to lead to a record.
func (c *checker) index(t, target table.Name, id func(key, value string) string) {
	t.Scan(c.tx, "", func(key string, value []byte) bool {
		to := id(key, string(value))
		c.expect(target.Has(c.tx, to), t, key, "it leads to %s/%s, which is not there", target, to)
		return true
	})
}

func idInKey(key, _ string) string     { return table.LastPart(key) }
func idInValue(_, value string) string { return value }

func (c *checker) owner(t table.Name, key, owner string) {
	c.expect(table.Users.Has(c.tx, owner), t, key, "its owner %q is not there", owner)
}

func (c *checker) users() {
	each(c, table.Users, func(key string, u User) {
		c.expect(u.ID == key, table.Users, key, "it says that its id is %q", u.ID)
		c.expect(table.UserNames.Text(c.tx, strings.ToLower(u.Name)) == key, table.Users, key,
			"the name %q does not lead to it", u.Name)
	})
	c.index(table.UserNames, table.Users, idInValue)
	for _, t := range []table.Name{table.Links, table.Cookies} {
		each(c, t, func(key string, cr credential) { c.owner(t, key, cr.User) })
	}
}

func (c *checker) sessions() {
	each(c, table.Sessions, func(key string, s Session) {
		c.expect(s.ID == key, table.Sessions, key, "it says that its id is %q", s.ID)
		c.owner(table.Sessions, key, s.Owner)
		c.expect(table.OwnerSessions.Has(c.tx, sessionOrderKey(s)), table.Sessions, key,
			"it is missing in its owner's list")
		c.expect(s.Leaf == "" || table.SessionMsgs.Has(c.tx, table.Join(key, s.Leaf)), table.Sessions, key,
			"its leaf %q is not one of its messages", s.Leaf)
	})
	c.index(table.OwnerSessions, table.Sessions, idInKey)
}

func (c *checker) messages() {
	each(c, table.Messages, func(key string, m Message) {
		c.expect(m.ID == key, table.Messages, key, "it says that its id is %q", m.ID)
		c.owner(table.Messages, key, m.Owner)
		c.expect(table.Sessions.Has(c.tx, m.Session), table.Messages, key, "its session %q is not there", m.Session)
		c.expect(table.SessionMsgs.Has(c.tx, table.Join(m.Session, key)), table.Messages, key,
			"it is missing in its session's list")
		c.expect(m.Parent == "" || table.SessionMsgs.Has(c.tx, table.Join(m.Session, m.Parent)), table.Messages, key,
			"its parent %q is not in its session", m.Parent)
		c.expect(m.Run == "" || table.Runs.Has(c.tx, m.Run), table.Messages, key, "its run %q is not there", m.Run)
		for _, run := range m.LaterRuns {
			c.expect(table.Runs.Has(c.tx, run), table.Messages, key, "its later run %q is not there", run)
		}
	})
	c.index(table.SessionMsgs, table.Messages, idInKey)
}

func (c *checker) runs() {
	each(c, table.Runs, func(key string, r Run) {
		c.expect(r.ID == key, table.Runs, key, "it says that its id is %q", r.ID)
		c.owner(table.Runs, key, r.Owner)
		c.expect(table.SessionRuns.Has(c.tx, table.Join(r.Session, key)), table.Runs, key,
			"it is missing in its session's list")
		c.expect(r.Live() == (table.Live.Text(c.tx, r.Session) == key), table.Runs, key,
			"the list of live runs has it wrong")
		for _, id := range append([]string{r.UserMessage}, r.Responses...) {
			c.expect(table.SessionMsgs.Has(c.tx, table.Join(r.Session, id)), table.Runs, key,
				"its message %q is not in its session", id)
		}
		c.journal(key, r)
	})
	c.index(table.SessionRuns, table.Runs, idInKey)
	c.index(table.Live, table.Runs, idInValue)
	each(c, table.Requests, func(string, request.Record) {})
}

// journal expects the whole journal of a run that ended: each record readable, up to
// the last packet, and every call of its steps with exactly one result.
func (c *checker) journal(key string, r Run) {
	if r.Live() {
		return
	}
	log, err := journal.Sealed(c.tx, key)
	if err != nil {
		c.add(table.Runs, key, "its journal cannot be read: %v", err)
		return
	}
	for _, damage := range log.Damage() {
		c.add(table.Runs, key, "a part of its journal cannot be read: %v", damage)
	}
	c.expect(log.Epoch() == r.Epoch && log.Last() == r.Ends[r.Epoch], table.Runs, key,
		"its journal has %d packets in epoch %d, and should have %d in epoch %d",
		log.Last(), log.Epoch(), r.Ends[r.Epoch], r.Epoch)
	for _, a := range journal.Answers(log.Records(), len(r.Responses)) {
		for i, s := range a.Steps {
			for _, result := range s.Results {
				c.expect(!result.Lost, table.Runs, key, "in step %d a call has no result", i)
			}
		}
	}
}

func (c *checker) documents() {
	each(c, table.Documents, func(key string, d DocumentRecord) {
		c.expect(d.ID == key, table.Documents, key, "it says that its id is %q", d.ID)
		c.owner(table.Documents, key, d.Owner)
		c.expect(table.DocumentURIs.Text(c.tx, table.Join(d.Owner, d.URI)) == key, table.Documents, key,
			"its URI does not lead to it")
		c.expect(table.DocumentTexts.Has(c.tx, key), table.Documents, key, "its text is not there")
	})
	c.index(table.DocumentURIs, table.Documents, idInValue)
}

func (c *checker) memories() {
	each(c, table.Memories, func(key string, m Memory) {
		c.expect(m.ID == key, table.Memories, key, "it says that its id is %q", m.ID)
		c.owner(table.Memories, key, m.Owner)
		c.expect(table.OwnerMemories.Has(c.tx, table.Join(m.Owner, key)), table.Memories, key,
			"it is missing in its owner's list")
	})
	c.index(table.OwnerMemories, table.Memories, idInKey)
}

func (c *checker) files() {
	each(c, table.Files, func(key string, f File) {
		c.expect(f.ID == key, table.Files, key, "it says that its id is %q", f.ID)
		c.owner(table.Files, key, f.Owner)
		c.expect(table.OwnerFiles.Has(c.tx, table.Join(f.Owner, key)), table.Files, key,
			"it is missing in its owner's list")
		if f.Picture() {
			c.expect(table.FilePictures.Has(c.tx, key), table.Files, key, "its picture is not there")
		} else {
			c.expect(table.FileTexts.Has(c.tx, key), table.Files, key, "its text is not there")
		}
		for _, session := range f.Sessions {
			c.expect(table.SessionFiles.Has(c.tx, table.Join(session, key)), table.Files, key,
				"it is missing in the list of session %s", session)
		}
	})
	c.index(table.OwnerFiles, table.Files, idInKey)
	c.index(table.SessionFiles, table.Files, idInKey)
}

func (c *checker) agents() {
	each(c, table.Agents, func(key string, a Agent) {
		c.expect(a.ID == key, table.Agents, key, "it says that its id is %q", a.ID)
		c.expect(table.AgentNames.Text(c.tx, agentKey(a.Name)) == key, table.Agents, key,
			"the name %q does not lead to it", a.Name)
	})
	c.index(table.AgentNames, table.Agents, idInValue)
}
