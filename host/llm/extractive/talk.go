package extractive

import "strings"

// Words of greeting and thanks, by which a message is not a question for the
// documents.
var (
	greetings = set(`hello hi hey hallo moin servus bonjour salut hola ciao olá oi привет здравствуйте こんにちは 你好 您好 안녕하세요 merhaba hej hei
		good morning afternoon evening day guten tag morgen abend buenos días bon jour there again all everyone bulkhead`)
	thanks = set(`thanks thank you very much many so a lot danke vielen dank merci beaucoup gracias grazie obrigado ok okay great cool`)
)

// selfQuestions are asked about the model itself, folded and without marks.
var selfQuestions = []string{
	"who are you", "what are you", "what can you do", "what do you do", "how do you work", "help", "help me",
	"are you an ai", "are you a bot", "which model are you", "what model are you", "wer bist du", "was kannst du",
	"qui es-tu",
	"quién eres", "what is this", "how does this work", "test", "ping",
}

// maxTalkWords is the length up to which a message can be small talk.
const maxTalkWords = 6

// smallTalk returns the reply to a greeting, to thanks or to a question about the
// model itself, "" for anything else.
func (e *exchange) smallTalk() string {
	words := wordsOf(e.question)
	for i := range words {
		words[i] = fold(words[i])
	}
	whole := strings.Join(words, " ")
	for _, q := range selfQuestions {
		if whole == q {
			return e.about()
		}
	}
	switch {
	case len(words) == 0:
		return e.about()
	case len(words) > maxTalkWords:
		return ""
	case only(words, thanks):
		return "You are welcome. Ask me anything else about your documents."
	case only(words, greetings):
		return "Hello. " + e.about()
	}
	return ""
}

func only(words []string, in map[string]bool) bool {
	for _, w := range words {
		if !in[w] {
			return false
		}
	}
	return true
}

// about says what this model is and what it can do with the tools it has.
func (e *exchange) about() string {
	const is = "I am the model that is built into Bulkhead. There is no language model behind me: "
	for _, def := range e.tools {
		if def.Name == toolSearch {
			return is + "I search your documents and quote the sentences that fit your question best, each with its " +
				"source. " +
				"Ask me about something that stands in them. For real conversation, add a model to the configuration."
		}
	}
	return is + "I quote from documents that a search tool finds, and in this conversation I have no search tool. " +
		"Turn on `internal_search`, or add a model to the configuration for real conversation."
}
