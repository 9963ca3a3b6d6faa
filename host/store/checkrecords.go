package store

import (
	"strings"

	"github.com/bulkhead-host/bulkhead/host/journal"
	"github.com/bulkhead-host/bulkhead/host/store/agent"
	"github.com/bulkhead-host/bulkhead/host/store/request"
	"github.com/bulkhead-host/bulkhead/host/store/table"
)

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
		c.expect(table.AgentNames.Text(c.tx, agent.Key(a.Name)) == key, table.Agents, key,
			"the name %q does not lead to it", a.Name)
	})
	c.index(table.AgentNames, table.Agents, idInValue)
}
