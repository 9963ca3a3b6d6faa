package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/store/kv"
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
		for _, check := range []func(){c.users, c.sessions, c.messages, c.runs, c.documents, c.memories, c.files, c.agents} {
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

func (c *checker) add(t table, key, format string, args ...any) {
	c.problems = append(c.problems, Problem{Table: string(t), Key: key, Message: fmt.Sprintf(format, args...)})
}

// expect adds a problem unless ok.
func (c *checker) expect(ok bool, t table, key, format string, args ...any) {
	if !ok {
		c.add(t, key, format, args...)
	}
}

// each visits the records of a table that can be read.
func each[T any](c *checker, t table, visit func(key string, v T)) {
	t.scan(c.tx, "", func(key string, data []byte) bool {
		v, err := decode[T](t, key, data)
		if err != nil {
			c.add(t, key, "it cannot be read: %v", errors.Unwrap(err))
		} else {
			visit(key, v)
		}
		return true
	})
}

// index visits the entries of an index and expects each to lead to a record.
func (c *checker) index(t, target table, id func(key, value string) string) {
	t.scan(c.tx, "", func(key string, value []byte) bool {
		to := id(key, string(value))
		c.expect(target.has(c.tx, to), t, key, "it leads to %s/%s, which is not there", target, to)
		return true
	})
}

func idInKey(key, _ string) string     { return lastPart(key) }
func idInValue(_, value string) string { return value }

func (c *checker) owner(t table, key, owner string) {
	c.expect(tableUsers.has(c.tx, owner), t, key, "its owner %q is not there", owner)
}

func (c *checker) users() {
	each(c, tableUsers, func(key string, u User) {
		c.expect(u.ID == key, tableUsers, key, "it says that its id is %q", u.ID)
		c.expect(tableUserNames.text(c.tx, strings.ToLower(u.Name)) == key, tableUsers, key,
			"the name %q does not lead to it", u.Name)
	})
	c.index(tableUserNames, tableUsers, idInValue)
	for _, t := range []table{tableLinks, tableCookies} {
		each(c, t, func(key string, cr credential) { c.owner(t, key, cr.User) })
	}
}

func (c *checker) sessions() {
	each(c, tableSessions, func(key string, s Session) {
		c.expect(s.ID == key, tableSessions, key, "it says that its id is %q", s.ID)
		c.owner(tableSessions, key, s.Owner)
		c.expect(tableOwnerSessions.has(c.tx, sessionOrderKey(s)), tableSessions, key, "it is missing in its owner's list")
		c.expect(s.Leaf == "" || tableSessionMsgs.has(c.tx, join(key, s.Leaf)), tableSessions, key,
			"its leaf %q is not one of its messages", s.Leaf)
	})
	c.index(tableOwnerSessions, tableSessions, idInKey)
}

func (c *checker) messages() {
	each(c, tableMessages, func(key string, m Message) {
		c.expect(m.ID == key, tableMessages, key, "it says that its id is %q", m.ID)
		c.owner(tableMessages, key, m.Owner)
		c.expect(tableSessions.has(c.tx, m.Session), tableMessages, key, "its session %q is not there", m.Session)
		c.expect(tableSessionMsgs.has(c.tx, join(m.Session, key)), tableMessages, key, "it is missing in its session's list")
		c.expect(m.Parent == "" || tableSessionMsgs.has(c.tx, join(m.Session, m.Parent)), tableMessages, key,
			"its parent %q is not in its session", m.Parent)
		c.expect(m.Run == "" || tableRuns.has(c.tx, m.Run), tableMessages, key, "its run %q is not there", m.Run)
		for _, run := range m.LaterRuns {
			c.expect(tableRuns.has(c.tx, run), tableMessages, key, "its later run %q is not there", run)
		}
	})
	c.index(tableSessionMsgs, tableMessages, idInKey)
}

func (c *checker) runs() {
	each(c, tableRuns, func(key string, r Run) {
		c.expect(r.ID == key, tableRuns, key, "it says that its id is %q", r.ID)
		c.owner(tableRuns, key, r.Owner)
		c.expect(tableSessionRuns.has(c.tx, join(r.Session, key)), tableRuns, key, "it is missing in its session's list")
		c.expect(r.Live() == (tableLive.text(c.tx, r.Session) == key), tableRuns, key, "the list of live runs has it wrong")
		for _, id := range append([]string{r.UserMessage}, r.Responses...) {
			c.expect(tableSessionMsgs.has(c.tx, join(r.Session, id)), tableRuns, key, "its message %q is not in its session", id)
		}
		c.journal(key, r)
	})
	c.index(tableSessionRuns, tableRuns, idInKey)
	c.index(tableLive, tableRuns, idInValue)
	each(c, tableRequests, func(string, request) {})
}

// journal expects the whole journal of a run that ended: each record readable, up to
// the last packet, and every call of its steps with exactly one result.
func (c *checker) journal(key string, r Run) {
	if r.Live() {
		return
	}
	log, err := journal.Sealed(c.tx, key)
	if err != nil {
		c.add(tableRuns, key, "its journal cannot be read: %v", err)
		return
	}
	for _, damage := range log.Damage() {
		c.add(tableRuns, key, "a part of its journal cannot be read: %v", damage)
	}
	c.expect(log.Epoch() == r.Epoch && log.Last() == r.Ends[r.Epoch], tableRuns, key,
		"its journal has %d packets in epoch %d, and should have %d in epoch %d",
		log.Last(), log.Epoch(), r.Ends[r.Epoch], r.Epoch)
	for _, a := range journal.Answers(log.Records(), len(r.Responses)) {
		for i, s := range a.Steps {
			for _, result := range s.Results {
				c.expect(!result.Lost, tableRuns, key, "in step %d a call has no result", i)
			}
		}
	}
}

func (c *checker) documents() {
	each(c, tableDocuments, func(key string, d DocumentRecord) {
		c.expect(d.ID == key, tableDocuments, key, "it says that its id is %q", d.ID)
		c.owner(tableDocuments, key, d.Owner)
		c.expect(tableDocumentURIs.text(c.tx, join(d.Owner, d.URI)) == key, tableDocuments, key,
			"its URI does not lead to it")
		c.expect(tableDocumentTexts.has(c.tx, key), tableDocuments, key, "its text is not there")
	})
	c.index(tableDocumentURIs, tableDocuments, idInValue)
}

func (c *checker) memories() {
	each(c, tableMemories, func(key string, m Memory) {
		c.expect(m.ID == key, tableMemories, key, "it says that its id is %q", m.ID)
		c.owner(tableMemories, key, m.Owner)
		c.expect(tableOwnerMemories.has(c.tx, join(m.Owner, key)), tableMemories, key, "it is missing in its owner's list")
	})
	c.index(tableOwnerMemories, tableMemories, idInKey)
}

func (c *checker) files() {
	each(c, tableFiles, func(key string, f File) {
		c.expect(f.ID == key, tableFiles, key, "it says that its id is %q", f.ID)
		c.owner(tableFiles, key, f.Owner)
		c.expect(tableOwnerFiles.has(c.tx, join(f.Owner, key)), tableFiles, key, "it is missing in its owner's list")
		if f.Picture() {
			c.expect(tableFilePictures.has(c.tx, key), tableFiles, key, "its picture is not there")
		} else {
			c.expect(tableFileTexts.has(c.tx, key), tableFiles, key, "its text is not there")
		}
		for _, session := range f.Sessions {
			c.expect(tableSessionFiles.has(c.tx, join(session, key)), tableFiles, key,
				"it is missing in the list of session %s", session)
		}
	})
	c.index(tableOwnerFiles, tableFiles, idInKey)
	c.index(tableSessionFiles, tableFiles, idInKey)
}

func (c *checker) agents() {
	each(c, tableAgents, func(key string, a Agent) {
		c.expect(a.ID == key, tableAgents, key, "it says that its id is %q", a.ID)
		c.expect(tableAgentNames.text(c.tx, agentKey(a.Name)) == key, tableAgents, key,
			"the name %q does not lead to it", a.Name)
	})
	c.index(tableAgentNames, tableAgents, idInValue)
}
