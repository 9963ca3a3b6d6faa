package plugintool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/bulkhead-host/bulkhead/host/tool"
)

// Meta is what a call may know of a conversation. What of it reaches the guest is
// up to the manifest's needs and the grant of capability context.
type Meta struct {
	Refs      *tool.Refs     `json:"refs"`
	Now       *time.Time     `json:"now"`
	Query     string         `json:"query"`
	History   []tool.Message `json:"history"`
	User      MetaUser       `json:"user"`
	Citations map[string]int `json:"citations"`
}

// MetaUser is what a call may know of the user.
type MetaUser struct {
	ID       string `json:"id"`
	Locale   string `json:"locale"`
	TimeZone string `json:"time_zone"`
}

// ReadMeta reads the JSON of --meta strictly. Keys may have the prefix bulkhead/.
func ReadMeta(data []byte) (Meta, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return Meta{}, fmt.Errorf("read meta: it is not a JSON object: %w", err)
	}
	short := make(map[string]json.RawMessage, len(fields))
	for key, value := range fields {
		short[strings.TrimPrefix(key, "bulkhead/")] = value
	}
	plain, err := json.Marshal(short)
	if err != nil {
		return Meta{}, fmt.Errorf("read meta: %w", err)
	}
	var m Meta
	dec := json.NewDecoder(bytes.NewReader(plain))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil && !errors.Is(err, io.EOF) {
		return Meta{}, fmt.Errorf("read meta: %w; known are refs, now, query, history, user, citations", err)
	}
	return m, nil
}

func (m Meta) invocation(r Request, now time.Time) tool.Invocation {
	in := tool.Invocation{
		CallID: "run", User: r.User, Arguments: r.Arguments, Refs: tool.Refs{Start: 1, Count: 100}, Now: now,
		Report: r.Report,
		Context: tool.Context{
			Query: m.Query, History: m.History, UserID: m.User.ID, Locale: m.User.Locale, TimeZone: m.User.TimeZone,
			Citations: m.Citations,
		},
	}
	if m.Refs != nil {
		in.Refs = *m.Refs
	}
	if m.Now != nil {
		in.Now = *m.Now
	}
	return in
}
