package identity

// Kind is a kind of resource.
type Kind string

// The kinds of resources.
const (
	HostKind     Kind = "host"
	UserKind     Kind = "user"
	SessionKind  Kind = "session"
	MessageKind  Kind = "message"
	RunKind      Kind = "run"
	DocumentKind Kind = "document"
	MemoryKind   Kind = "memory"
	FileKind     Kind = "file"
	AgentKind    Kind = "agent"
	ModelKind    Kind = "model"
	PluginKind   Kind = "plugin"
	ToolKind     Kind = "tool"
)

// Who is to whom a rule gives an action.
type Who string

// Those to whom an action can be given. The host itself is apart from all of them: what
// it may do stands in Rule.Host.
const (
	// Anybody needs no sign-in.
	Anybody Who = "anybody"
	// SignedIn is every user.
	SignedIn Who = "signed in"
	// Owner is the user to whom the resource belongs, and no operator besides.
	Owner Who = "owner"
	// OwnerOrOperator is the user whom it is about, and any operator.
	OwnerOrOperator Who = "owner or operator"
	// Operators are those who manage the host.
	Operators Who = "operator"
	// LinkHolder is the user of a one-time sign-in link, for this one action.
	LinkHolder Who = "link holder"
	// HostOnly is nobody but the host itself.
	HostOnly Who = "host"
)

// The scopes.
const (
	// Read looks at what is there.
	Read Scope = "read"
	// Chat asks questions, and stops answers. It goes with Read, for an answer is read.
	Chat Scope = "chat"
	// Write adds, changes and deletes what is one's own.
	Write Scope = "write"
	// Manage is what only operators may do.
	Manage Scope = "manage"
)

// Action is something that a principal asks for.
type Action string

// The actions: all that there are. What each does and who may do it stands in the table
// below, with which a test compares this list.
const (
	OpenPage    Action = "host.page"
	CheckHealth Action = "host.health"
	ReadMetrics Action = "host.metrics"

	RedeemLink  Action = "user.redeem"
	SignOut     Action = "user.sign_out"
	ReadUser    Action = "user.read"
	WatchEvents Action = "user.events"
	ListUsers   Action = "user.list"
	CreateUser  Action = "user.create"
	RemoveUser  Action = "user.remove"
	LinkUser    Action = "user.link"
	RevokeUser  Action = "user.revoke"

	ListSessions  Action = "session.list"
	ReadSession   Action = "session.read"
	AskSession    Action = "session.ask"
	ChangeSession Action = "session.change"
	DeleteSession Action = "session.delete"
	ReadMessage   Action = "message.read"

	ReadRun     Action = "run.read"
	StopRun     Action = "run.stop"
	StopRuns    Action = "run.stop_all"
	RecoverRuns Action = "run.recover"

	ListDocuments   Action = "document.list"
	SearchDocuments Action = "document.search"
	ReadDocument    Action = "document.read"
	AddDocument     Action = "document.add"
	DeleteDocument  Action = "document.delete"
	IndexDocuments  Action = "document.index"

	ListMemories Action = "memory.list"
	ReadMemory   Action = "memory.read"
	AddMemory    Action = "memory.add"
	ChangeMemory Action = "memory.change"
	DeleteMemory Action = "memory.delete"

	ListFiles  Action = "file.list"
	ReadFile   Action = "file.read"
	AddFile    Action = "file.add"
	DeleteFile Action = "file.delete"

	ListAgents  Action = "agent.list"
	ReadAgent   Action = "agent.read"
	CreateAgent Action = "agent.create"
	ChangeAgent Action = "agent.change"
	DeleteAgent Action = "agent.delete"

	ListModels    Action = "model.list"
	InspectModels Action = "model.inspect"
	AddModel      Action = "model.add"
	RemoveModel   Action = "model.remove"
	ChooseModel   Action = "model.choose"
	RefreshModels Action = "model.refresh"
	TestModel     Action = "model.test"

	ListTools         Action = "tool.list"
	ListPlugins       Action = "plugin.list"
	ConfigurePlugin   Action = "plugin.configure"
	AcceptTools       Action = "plugin.accept"
	SetGrant          Action = "plugin.grant"
	ForgetPluginUsers Action = "plugin.forget_user"
)

// Rule says who may do an action.
type Rule struct {
	Action Action
	// Kind is the kind of resource that the action is done to.
	Kind Kind
	Who  Who
	// Host tells that the host may do it by itself too, as ForHost makes it. What it does
	// for a user, as ForUser makes it, goes by Who.
	Host bool
	// Scope is what a narrowed principal needs; "" where scopes do not count.
	Scope Scope
	// Says is what the action does.
	Says string
}

// host marks the rules under which the host may act by itself.
const host = true

var table = []Rule{
	{OpenPage, HostKind, Anybody, false, "", "loads the page, which holds nothing of anybody"},
	{CheckHealth, HostKind, Anybody, false, "", "asks whether the host lives and can serve"},
	{ReadMetrics, HostKind, Operators, false, Manage, "reads the counters, from another machine"},

	{RedeemLink, UserKind, LinkHolder, false, "", "exchanges a one-time link for a cookie"},
	{SignOut, UserKind, Owner, false, Write, "takes back the cookie that one came with"},
	{ReadUser, UserKind, OwnerOrOperator, host, Read, "reads a user's name and role"},
	{WatchEvents, UserKind, Owner, false, Read, "is told of changes to what is a user's"},
	{ListUsers, UserKind, Operators, host, Manage, "lists the users"},
	{CreateUser, UserKind, Operators, host, Manage, "adds a user; the host adds the owner at the first start"},
	{RemoveUser, UserKind, Operators, false, Manage, "removes a user with all that is theirs"},
	{LinkUser, UserKind, Operators, host, Manage, "makes a sign-in link; the host prints the owner's at start"},
	{RevokeUser, UserKind, OwnerOrOperator, false, Manage, "makes every link and cookie of a user invalid"},

	{ListSessions, SessionKind, SignedIn, false, Read, "lists one's own conversations"},
	{ReadSession, SessionKind, Owner, false, Read, "reads a conversation"},
	{AskSession, SessionKind, Owner, false, Chat, "asks in a conversation, or answers again or goes on there"},
	{ChangeSession, SessionKind, Owner, false, Write, "renames or pins a conversation, or selects its branch"},
	{DeleteSession, SessionKind, Owner, false, Write, "deletes a conversation"},
	{ReadMessage, MessageKind, Owner, false, Read, "reads a message"},

	{ReadRun, RunKind, Owner, false, Read, "reads the log of a run, or waits for its end"},
	{StopRun, RunKind, Owner, false, Chat, "stops a run"},
	{StopRuns, UserKind, OwnerOrOperator, false, Manage, "stops all runs of a user"},
	{RecoverRuns, RunKind, HostOnly, host, "", "finds the runs of everybody that a crash cut off"},

	{ListDocuments, DocumentKind, SignedIn, false, Read, "lists one's own documents"},
	{SearchDocuments, DocumentKind, SignedIn, false, Read, "searches one's own documents"},
	{ReadDocument, DocumentKind, Owner, false, Read, "reads a document"},
	{AddDocument, DocumentKind, Owner, false, Write, "adds or replaces a document"},
	{DeleteDocument, DocumentKind, Owner, false, Write, "deletes a document"},
	{IndexDocuments, DocumentKind, Operators, host, Manage, "makes the index agree with everybody's documents"},

	{ListMemories, MemoryKind, SignedIn, false, Read, "lists one's own memories"},
	{ReadMemory, MemoryKind, Owner, false, Read, "reads a memory"},
	{AddMemory, MemoryKind, Owner, false, Write, "adds a memory"},
	{ChangeMemory, MemoryKind, Owner, false, Write, "changes a memory"},
	{DeleteMemory, MemoryKind, Owner, false, Write, "deletes a memory"},

	{ListFiles, FileKind, SignedIn, false, Read, "lists one's own files"},
	{ReadFile, FileKind, Owner, false, Read, "reads a file, or attaches it to a message"},
	{AddFile, FileKind, Owner, false, Write, "adds a file"},
	{DeleteFile, FileKind, Owner, false, Write, "deletes a file"},

	{ListAgents, AgentKind, SignedIn, false, Read, "lists the agents"},
	{ReadAgent, AgentKind, SignedIn, false, Read, "reads an agent, to be answered by it"},
	{CreateAgent, AgentKind, Operators, false, Manage, "adds an agent"},
	{ChangeAgent, AgentKind, Operators, false, Manage, "changes an agent"},
	{DeleteAgent, AgentKind, Operators, false, Manage, "removes an agent"},

	{ListModels, ModelKind, SignedIn, false, Read, "lists the models that one can pick"},
	{InspectModels, ModelKind, Operators, host, Manage, "sees where each model is and whether it has a key"},
	{AddModel, ModelKind, Operators, false, Manage, "adds a model"},
	{RemoveModel, ModelKind, Operators, false, Manage, "removes a model that was added"},
	{ChooseModel, ModelKind, Operators, false, Manage, "chooses the default model"},
	{RefreshModels, ModelKind, Operators, host, Manage, "looks for model servers on this machine, at start too"},
	{TestModel, ModelKind, Operators, false, Manage, "reaches a model server that is described in the request"},

	{ListTools, ToolKind, SignedIn, false, Read, "lists the tools that one's questions may use"},
	{ListPlugins, PluginKind, Operators, false, Manage, "lists the plugins, with configuration and grants"},
	{ConfigurePlugin, PluginKind, Operators, false, Manage, "changes what a plugin reads as its configuration"},
	{AcceptTools, PluginKind, Operators, false, Manage, "offers the tools of a plugin that were held"},
	{SetGrant, PluginKind, Operators, false, Manage, "grants a plugin a capability, or takes it back"},
	{ForgetPluginUsers, PluginKind, Operators, false, Manage, "deletes what plugins keep for a user"},
}

// rules is the table by action.
var rules = func() map[Action]Rule {
	byAction := make(map[Action]Rule, len(table))
	for _, r := range table {
		byAction[r.Action] = r
	}
	return byAction
}()

// Rules returns the table: one rule for each action, in an order for readers.
func Rules() []Rule { return append([]Rule(nil), table...) }

// RuleOf returns the rule of an action, and false for one that there is not.
func RuleOf(a Action) (Rule, bool) {
	r, ok := rules[a]
	return r, ok
}
