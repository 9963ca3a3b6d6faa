package event

// Topic is what an Event is about.
type Topic string

// The topics that this host publishes.
const (
	TopicSession  Topic = "session"
	TopicRun      Topic = "run"
	TopicMemory   Topic = "memory"
	TopicDocument Topic = "document"
	TopicPlugin   Topic = "plugin"
	TopicModel    Topic = "model"
	TopicAgent    Topic = "agent"
)

// The topics of the protocol that nothing publishes yet. What changes a message comes
// under session today, what changes a grant under plugin.
const (
	TopicMessage  Topic = "message"
	TopicGrant    Topic = "grant"
	TopicApproval Topic = "approval"
)

// topics are all topics; true for those that are published.
var topics = map[Topic]bool{
	TopicSession: true, TopicRun: true, TopicMemory: true, TopicDocument: true, TopicPlugin: true, TopicModel: true,
	TopicAgent: true, TopicMessage: false, TopicGrant: false, TopicApproval: false,
}
