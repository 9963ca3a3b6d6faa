// Package entrance is the table of every way into the host: each route, each message of the
// WebSocket and each command, with the actions of host/identity that it comes down to.
//
// Tests of api and of the command line read it: they fail on a way in that has no entry and
// on an entry without its way in, and try each as everybody. Nothing is decided by it, and
// the binary does not link it.
package entrance

import "github.com/bulkhead-host/bulkhead/host/identity"

// Entry is one way in.
type Entry struct {
	// Name is a method and a path as the router has it, the type of a message, or the
	// words of a command.
	Name string
	// Actions are what it does, the one that decides first. A command that reaches no
	// host has none.
	Actions []identity.Action
	// Own tells that it does its first action to what is the caller's own or is made
	// by it, so that there is nothing of somebody else to name.
	Own bool
}

func names(name string, actions ...identity.Action) Entry { return Entry{Name: name, Actions: actions} }

func own(name string, actions ...identity.Action) Entry {
	return Entry{Name: name, Actions: actions, Own: true}
}

// Routes are the addresses.
var Routes = []Entry{
	own("GET /", identity.OpenPage),
	own("GET /healthz", identity.CheckHealth),
	own("GET /readyz", identity.CheckHealth),
	own("GET /metrics", identity.ReadMetrics),
	own("GET /sign-in", identity.RedeemLink),

	own("GET /api/v1/ws", identity.WatchEvents),
	own("GET /api/v1/events", identity.WatchEvents),
	own("POST /api/v1/sign-out", identity.SignOut),
	own("GET /api/v1/me", identity.ReadUser),
	own("GET /api/v1/models", identity.ListModels, identity.InspectModels),
	own("GET /api/v1/tools", identity.ListTools),

	own("GET /api/v1/sessions", identity.ListSessions),
	names("GET /api/v1/sessions/:id", identity.ReadSession),
	names("PATCH /api/v1/sessions/:id", identity.ChangeSession),
	names("DELETE /api/v1/sessions/:id", identity.DeleteSession),
	names("POST /api/v1/sessions/:id/messages", identity.AskSession),

	names("GET /api/v1/runs/:run", identity.ReadRun),
	names("POST /api/v1/runs/:run/stop", identity.StopRun),
	names("GET /api/v1/runs/:run/packets", identity.ReadRun),
	names("GET /api/v1/runs/:run/events", identity.ReadRun),

	own("GET /api/v1/memories", identity.ListMemories),
	own("POST /api/v1/memories", identity.AddMemory),
	names("PATCH /api/v1/memories/:id", identity.ChangeMemory),
	names("DELETE /api/v1/memories/:id", identity.DeleteMemory),

	own("GET /api/v1/agents", identity.ListAgents),
	names("POST /api/v1/agents", identity.CreateAgent),
	names("PATCH /api/v1/agents/:id", identity.ChangeAgent),
	names("DELETE /api/v1/agents/:id", identity.DeleteAgent),

	own("GET /api/v1/files", identity.ListFiles),
	own("POST /api/v1/files", identity.AddFile),
	names("GET /api/v1/files/:id", identity.ReadFile),
	names("GET /api/v1/files/:id/picture", identity.ReadFile),
	names("DELETE /api/v1/files/:id", identity.DeleteFile),

	own("GET /api/v1/documents", identity.ListDocuments),
	own("POST /api/v1/documents", identity.AddDocument),
	own("GET /api/v1/documents/search", identity.SearchDocuments),
	names("GET /api/v1/documents/:id", identity.ReadDocument),
	names("DELETE /api/v1/documents/:id", identity.DeleteDocument),

	names("POST /api/v1/models", identity.AddModel, identity.ChooseModel),
	names("POST /api/v1/models/test", identity.TestModel),
	names("POST /api/v1/models/refresh", identity.RefreshModels),
	names("POST /api/v1/models/offers", identity.TestModel),
	names("PUT /api/v1/models/default", identity.ChooseModel),
	names("DELETE /api/v1/models/:name", identity.RemoveModel),

	names("GET /api/v1/plugins", identity.ListPlugins),
	names("PATCH /api/v1/plugins/:name/config", identity.ConfigurePlugin),
	names("POST /api/v1/plugins/:name/accept", identity.AcceptTools),

	names("GET /api/v1/users", identity.ListUsers),
	names("POST /api/v1/users", identity.CreateUser),
	names("DELETE /api/v1/users/:name", identity.RemoveUser, identity.RevokeUser, identity.StopRuns,
		identity.ForgetPluginUsers, identity.IndexDocuments),
	names("POST /api/v1/users/:name/link", identity.LinkUser),
}

// Frames are the messages that a client may send over the WebSocket.
var Frames = []Entry{
	names("send", identity.AskSession),
	names("regenerate", identity.ReadMessage, identity.AskSession),
	names("continue", identity.ReadMessage, identity.AskSession),
	names("select", identity.ReadMessage, identity.ChangeSession),
	names("resume", identity.ReadRun),
	names("attach", identity.ReadSession, identity.ReadRun),
	names("stop", identity.StopRun),
	own("detach", identity.WatchEvents),
	own("ping", identity.WatchEvents),
}

// Commands are those of the command line, which act as their --user or as the owner. Their
// actions are those of the routes that they call where nothing is refused. Those without
// any reach no host; serve is one, which makes its sign-in link as the host.
var Commands = []Entry{
	own("serve", identity.LinkUser),
	own("parse"),
	own("bench"),
	own("version"),
	own("plugin inspect"),
	own("plugin verify"),

	names("chat", identity.AskSession, identity.ListAgents),
	own("knowledge add", identity.AddDocument),
	own("knowledge list", identity.ListDocuments),
	own("knowledge search", identity.SearchDocuments),
	names("knowledge remove", identity.ListDocuments, identity.DeleteDocument),
	own("plugin run", identity.SearchDocuments),

	names("user add", identity.CreateUser, identity.LinkUser),
	names("user link", identity.LinkUser),
	names("user list", identity.ListUsers),
	names("user remove", identity.RemoveUser, identity.RevokeUser, identity.StopRuns, identity.ForgetPluginUsers,
		identity.IndexDocuments),
	names("plugin list", identity.ListPlugins),
	names("plugin config", identity.ConfigurePlugin, identity.ListPlugins),
	names("plugin held", identity.ListPlugins, identity.AcceptTools),
	names("model list", identity.ListModels, identity.InspectModels),
	names("model add", identity.AddModel, identity.ChooseModel),
	names("model test", identity.TestModel),
	names("model default", identity.ChooseModel),
	names("model remove", identity.RemoveModel),
	names("agent add", identity.CreateAgent, identity.ListTools),
	own("agent list", identity.ListAgents),
	names("agent remove", identity.ListAgents, identity.DeleteAgent),
}
