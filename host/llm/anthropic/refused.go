package anthropic

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/bulkhead-host/bulkhead/host/llm/endpoint"
)

// refused is what an endpoint turned out to refuse. The bits are stored: their meaning
// never changes. Above outputShift stands the largest output that it allows, in
// tokens, 0 where it did not say.
type refused uint32

const (
	// noCache: cache marks are refused.
	noCache refused = 1 << iota
	// noImages: images are refused.
	noImages
	// noAdaptive: thinking whose measure is the model's own is refused.
	noAdaptive
	// noBudget: thinking with a number of tokens is refused.
	noBudget
	// alwaysThinks: thinking cannot be turned off.
	alwaysThinks
)

const (
	outputShift   = 8
	largestOutput = 1<<(32-outputShift) - 1
)

// but returns facts as refusals leave them.
func (f facts) but(r refused) facts {
	f.noCache, f.noImages = r&noCache != 0, r&noImages != 0
	f.mayNot = f.mayNot && r&alwaysThinks == 0
	if limit := int(r >> outputShift); limit > 0 && (f.maxOutput == 0 || limit < f.maxOutput) {
		f.maxOutput = limit
	}
	if r&noAdaptive != 0 && (f.thinking == thinkAdaptive || f.thinking == thinkUnknown) {
		f.thinking = thinkBudget
	}
	if r&noBudget != 0 && f.thinking == thinkBudget {
		f.thinking = thinkNever
	}
	return f
}

// tooMuchOutput is how the API says what the limit of an answer is.
var tooMuchOutput = regexp.MustCompile(`max_tokens: \d+ > (\d+)`)

// learn reads a refusal and tells whether it taught something that the request
// can do without. with is what was known to be refused when it was sent; another answer
// may have learned more meanwhile.
func (m *Model) learn(r *endpoint.Refusal, sent sdk.MessageNewParams, with refused) bool {
	m.learning.Lock()
	defer m.learning.Unlock()
	before := refused(m.refused.Load())
	if before != with {
		return true
	}
	after := before.and(r.Words(), sent)
	if after == before {
		return false
	}
	m.refused.Store(uint32(after))
	return true
}

// and adds what a refusal of sent, in lower case, says.
func (r refused) and(text string, sent sdk.MessageNewParams) refused {
	match := tooMuchOutput.FindStringSubmatch(text)
	switch {
	case match != nil:
		if limit, err := strconv.Atoi(match[1]); err == nil && limit > 0 && limit <= largestOutput &&
			int64(limit) < sent.MaxTokens {
			return r&(1<<outputShift-1) | refused(limit)<<outputShift
		}
	case strings.Contains(text, "thinking"):
		return r | thinkingRefused(sent)
	case strings.Contains(text, "cache_control"):
		return r | noCache
	case endpoint.IsBlind(text) && hasImages(sent):
		return r | noImages
	}
	return r
}

// thinkingRefused is the way to think that was refused.
func thinkingRefused(sent sdk.MessageNewParams) refused {
	switch {
	case sent.Thinking.OfAdaptive != nil:
		return noAdaptive
	case sent.Thinking.OfEnabled != nil:
		return noBudget
	case sent.Thinking.OfDisabled != nil:
		return alwaysThinks
	}
	return 0
}

// unwelcome tells whether a refusal is about the model's own blocks in this history,
// not about thinking as such: what was signed or encrypted for another account, or by
// an older model behind the same name, and a step whose thinking is missing.
func unwelcome(r *endpoint.Refusal) bool {
	text := r.Words()
	if strings.Contains(text, "encrypted_content") || strings.Contains(text, "encrypted_index") {
		return true
	}
	return strings.Contains(text, "thinking") &&
		slices.ContainsFunc([]string{"signature", "cannot be modified", "must start with", "expected `thinking`"},
			func(words string) bool { return strings.Contains(text, words) })
}
