package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/bulkhead-host/bulkhead/host/api/rest"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/store"
)

func TestAgentsAreWrittenByOperatorsAndReadByEverybody(t *testing.T) {
	h := newHost(t)
	w := h.dial()
	type reply struct{ Agent rest.AgentView }
	type all struct{ Agents []rest.AgentView }
	var tutor, changed reply
	h.call("POST", apiRoot+"/agents", `{"name":"Tutor","instructions":"Ask back.","tools":["clock"],"model":"scripted","max_cycles":3}`, http.StatusCreated, &tutor)
	one := apiRoot + "/agents/" + tutor.Agent.ID
	h.call("PATCH", one, `{"max_cycles":2}`, http.StatusOK, &changed)
	if a := changed.Agent; a.Name != "Tutor" || a.Instructions != "Ask back." || len(a.Tools) != 1 ||
		a.Model != "scripted" || a.MaxCycles != 2 {
		t.Errorf("%+v", a)
	}
	changed = reply{}
	h.call("PATCH", one, `{"tools":null,"model":""}`, http.StatusOK, &changed)
	if a := changed.Agent; a.Tools != nil || a.Model != "" || a.MaxCycles != 2 {
		t.Errorf("%+v", a)
	}
	for body, code := range map[string]fault.Code{
		`{}`: fault.Invalid, `{"name":"a","tools":"clock"}`: fault.Invalid,
		`{"name":"a","max_cycles":51}`: fault.Invalid, `{"name":"a","id":"x"}`: fault.Invalid,
		`{"name":"a","instructions":"` + strings.Repeat("x", store.MaxInstructionBytes+1) + `"}`: fault.Invalid,
		`{"name":"a","model":"nobody"}`: fault.UnknownModel,
	} {
		h.fails(h.request("POST", apiRoot+"/agents", body), code.Status(), code)
	}
	h.fails(h.request("POST", apiRoot+"/agents", `{"name":"TUTOR"}`), http.StatusConflict, fault.Conflict)
	for body, field := range map[string]string{
		`{}`: "name", `{"name":"tutor"}`: "name", `{"name":"a","max_cycles":-1}`: "max_cycles",
		`{"name":"a","model":"nobody"}`: "model",
		`{"name":"a","tools":[""]}`:     "tools", `{"name":"a","instructions":"\u0000"}`: "instructions",
	} {
		var reply struct{ Error fault.Error }
		_, data := h.do(h.request("POST", apiRoot+"/agents", body))
		if err := json.Unmarshal(data, &reply); err != nil || reply.Error.Field != field {
			t.Errorf("%s: %s, want the field %s", body, data, field)
		}
	}

	operator := h.cookie
	h.become("eve", false)
	var list all
	if h.call("GET", apiRoot+"/agents", "", http.StatusOK, &list); len(list.Agents) != 1 ||
		list.Agents[0].ID != tutor.Agent.ID {
		t.Errorf("%+v", list)
	}
	h.fails(h.request("POST", apiRoot+"/agents", `{"name":"Mine"}`), http.StatusForbidden, fault.Forbidden)
	h.fails(h.request("PATCH", one, `{"name":"Mine"}`), http.StatusForbidden, fault.Forbidden)
	h.fails(h.request("DELETE", one, ""), http.StatusForbidden, fault.Forbidden)

	h.cookie = operator
	h.call("DELETE", one, "", http.StatusNoContent, nil)
	h.fails(h.request("DELETE", one, ""), http.StatusNotFound, "unknown_agent")
	h.fails(h.request("PATCH", one, `{}`), http.StatusNotFound, "unknown_agent")
	for _, change := range []string{"created", "updated", "updated", "removed"} {
		if e := w.event(); e.Topic != "agent" || e.Change != change || e.ID != tutor.Agent.ID {
			t.Errorf("event %+v, want %s", e, change)
		}
	}
}

// toAgent is a send to an agent with more fields, over HTTP where there are none.
func toAgent(agent, more string) string {
	return `{` + more + `"request_id":"` + uuid.NewString() + `","text":"What is it?","agent_id":"` + agent + `"}`
}

func TestAMessageGoesToAnAgentOverHTTPAndTheWebSocket(t *testing.T) {
	h := newHost(t)
	var added struct{ Agent rest.AgentView }
	h.call("POST", apiRoot+"/agents", `{"name":"Clock","instructions":"Speak like a clock."}`, http.StatusCreated,
		&added)
	h.model.Add(llmtest.Answer().Text("Tick."), llmtest.Answer().Text("Tock."))

	var ack rest.PostAck
	h.call("POST", newMessages, toAgent(added.Agent.ID, ""), http.StatusAccepted, &ack)
	h.waitFor(ack.Run)
	var detail struct{ Messages []rest.MessageView }
	h.call("GET", apiRoot+"/sessions/"+ack.SessionID, "", http.StatusOK, &detail)
	for _, m := range detail.Messages {
		if m.AgentID != added.Agent.ID {
			t.Errorf("%s message of agent %q", m.Role, m.AgentID)
		}
	}

	w := h.dial()
	h.waitFor(w.ask(toAgent(added.Agent.ID, `"type":"send",`)).Run)
	for i, r := range h.model.Requests() {
		if !strings.Contains(string(r.Raw), "Speak like a clock.") {
			t.Errorf("request %d has no instructions", i)
		}
	}

	h.dial().bad(websocket.MessageText, toAgent("ag_gone", `"type":"send",`), "unknown_agent")
	h.fails(h.request("POST", newMessages, toAgent("ag_gone", "")), http.StatusNotFound, "unknown_agent")
}
