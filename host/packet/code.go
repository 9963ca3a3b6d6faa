package packet

//go:generate go run ./gencodes ../../web/src/lib/codes.json

// Code names what an error or a notice is about. The list is closed; Codes has
// the sentence and the retryable flag of each, and the page's catalogue is
// generated from it.
type Code string

// Codes of errors.
const (
	// CodeModelUnreachable: nothing answers at the model's endpoint.
	CodeModelUnreachable Code = "model_unreachable"
	// CodeModelTimeout: the endpoint answered too slowly.
	CodeModelTimeout Code = "model_timeout"
	// CodeModelInterrupted: the endpoint's stream broke off.
	CodeModelInterrupted Code = "model_interrupted"
	// CodeModelAuth: the endpoint refused our credential.
	CodeModelAuth Code = "model_auth"
	// CodeModelRateLimited: the endpoint asks us to slow down.
	CodeModelRateLimited Code = "model_rate_limited"
	// CodeModelNotFound: the endpoint does not have that model.
	CodeModelNotFound Code = "model_not_found"
	// CodeModelRejected: the endpoint refused the request.
	CodeModelRejected Code = "model_rejected"
	// CodeModelFailed: the endpoint reported a fault of its own.
	CodeModelFailed Code = "model_failed"
	// CodeModelBadResponse: what the endpoint sent could not be read.
	CodeModelBadResponse Code = "model_bad_response"
	// CodeContextTooLong: the conversation does not fit the model's window.
	CodeContextTooLong Code = "context_too_long"
	// CodeRefused: the model declined to answer.
	CodeRefused Code = "refused"
	// CodeOutOfBudget: the model used its output budget before any answer.
	CodeOutOfBudget Code = "out_of_budget"
	// CodeEmptyAnswer: the model ended without an answer.
	CodeEmptyAnswer Code = "empty_answer"
	// CodeInternal: a fault of the host.
	CodeInternal Code = "internal"
)

// Codes of notices.
const (
	// CodeToolUnavailable: a tool that was asked for cannot be used now.
	CodeToolUnavailable Code = "tool_unavailable"
	// CodeAgentUnavailable: an agent, or the model it names, is not there now.
	CodeAgentUnavailable Code = "agent_unavailable"
	// CodeDocumentsDropped: a tool cited outside the refs it was given.
	CodeDocumentsDropped Code = "documents_dropped"
	// CodeForcedToolUnused: the model was told to use a tool and did not.
	CodeForcedToolUnused Code = "forced_tool_unused"
	// CodeHistoryShortened: older messages were left out to fit the window.
	CodeHistoryShortened Code = "history_shortened"
	// CodeResultsLeftOut: results of tools were left out, or their middle, to fit the
	// window.
	CodeResultsLeftOut Code = "results_left_out"
	// CodeCutOff: the answer reached the model's output limit.
	CodeCutOff Code = "cut_off"
	// CodeCycleLimit: the last allowed cycle was reached, tools are off.
	CodeCycleLimit Code = "cycle_limit"
	// CodeTooManyCalls: a step asked for more calls than one step may make.
	CodeTooManyCalls Code = "too_many_calls"
	// CodeMessageChanged: a rule of the host replaced parts of a message before it was
	// stored.
	CodeMessageChanged Code = "message_changed"
	// CodeNotSaved: the outcome of a run cannot be written yet.
	CodeNotSaved Code = "not_saved"
	// CodeRecordDamaged: a stored packet of the run cannot be read any more.
	CodeRecordDamaged Code = "record_damaged"
)

// CodeInfo is what is fixed about a code.
type CodeInfo struct {
	// Message is the sentence for a person when nothing more exact is known.
	Message string `json:"message"`
	// Retryable tells whether the same request may succeed later unchanged.
	Retryable bool `json:"retryable"`
}

// Codes is the closed list. It must not be changed at run time.
var Codes = map[Code]CodeInfo{
	CodeModelUnreachable: {"The model endpoint did not answer. Your message is saved.", true},
	CodeModelTimeout:     {"The model endpoint took too long. What arrived is saved.", true},
	CodeModelInterrupted: {"The model's answer broke off. What arrived is saved.", true},
	CodeModelAuth:        {"The model endpoint refused the key. Check the key of this model.", false},
	CodeModelRateLimited: {"The model endpoint asks to slow down. Wait a little, then retry.", true},
	CodeModelNotFound:    {"The model endpoint does not have this model. Choose another model.", false},
	CodeModelRejected:    {"The model endpoint refused the request.", false},
	CodeModelFailed:      {"The model endpoint reported a fault of its own. Your message is saved.", true},
	CodeModelBadResponse: {"The model endpoint sent something that is not an answer.", true},
	CodeContextTooLong: {"The conversation is too long for this model. Start a new one, or choose a model with a " +
		"larger window.", false},
	CodeRefused:          {"The model declined to answer.", false},
	CodeOutOfBudget:      {"The model used up its output before it wrote an answer.", true},
	CodeEmptyAnswer:      {"The model ended without an answer.", true},
	CodeInternal:         {"Something went wrong in the host. Your message is saved.", true},
	CodeToolUnavailable:  {"A tool is not available right now.", false},
	CodeAgentUnavailable: {"The agent, or its model, is not there now; the default takes its place.", false},
	CodeDocumentsDropped: {"A tool cited documents outside the range it was given; they were left out.", false},
	CodeForcedToolUnused: {"The model did not use the tool it was told to use.", false},
	CodeHistoryShortened: {"Older messages were left out so that the conversation fits the model.", false},
	CodeResultsLeftOut: {"Results of tools were left out, or a part of them, so that the conversation fits the " +
		"model. It can look them up.", false},
	CodeCutOff:         {"The answer reached the model's output limit and is cut off.", false},
	CodeCycleLimit:     {"The limit of tool rounds was reached; the model answers with what it has.", false},
	CodeTooManyCalls:   {"The model asked for more tool calls at once than are run; the first ones were.", false},
	CodeMessageChanged: {"Parts of your message were replaced before it was stored.", false},
	CodeNotSaved: {"The answer cannot be saved right now; the disk may be full. It is kept in memory and saved " +
		"as soon as that works.", false},
	CodeRecordDamaged: {"A part of this answer cannot be read any more, as the data file is damaged there. What is " +
		"whole is shown.", false},
}

// NewNotice returns a notice with the code's own sentence, or with message where
// that is not empty.
func NewNotice(code Code, message string) Notice {
	if message == "" {
		message = Codes[code].Message
	}
	return Notice{Code: code, Message: message}
}

// NewError returns an error with the code's own sentence, or with message where
// that is not empty.
func NewError(code Code, message string) Error {
	info := Codes[code]
	if message == "" {
		message = info.Message
	}
	return Error{Code: code, Message: message, Retryable: info.Retryable}
}
