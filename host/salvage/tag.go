package salvage

import "strings"

// tagKind is what an element's tag means in the markup of calls. Tags of other
// names are content.
type tagKind uint8

const (
	otherTag tagKind = iota
	functionTag
	parameterTag
	keyTag
	valueTag
	separatorTag
	typeTag
	wrapperTag
)

var tagKinds = map[string]tagKind{
	"function": functionTag, "functionname": functionTag, "invoke": functionTag, "invokename": functionTag,
	"function_invocation": wrapperTag,
	"parameter":           parameterTag, "parametername": parameterTag, "param": parameterTag,
	"paramname": parameterTag,
	"arg_key":   keyTag, "longcat_arg_key": keyTag, "arg_value": valueTag, "longcat_arg_value": valueTag,
	"tool_sep":  separatorTag,
	"arg_type":  typeTag,
	"tool_call": wrapperTag, "tool_calls": wrapperTag, "function_call": wrapperTag, "function_calls": wrapperTag,
	"longcat_tool_call": wrapperTag, "dots_function_call": wrapperTag, "TOOLCALL": wrapperTag,
}

// wrapperWords are the wrappers in other cases.
var wrapperWords = func() map[string]bool {
	words := map[string]bool{}
	for _, tag := range append(cased("", "tool_call"), cased("", "function_call")...) {
		words[strings.TrimSuffix(tag, ">")] = true
	}
	return words
}()

// tag is one tag of an element, < to >.
type tag struct {
	kind    tagKind
	closing bool
	// word is the name without its namespace, attrs what stands behind it.
	word, namespace, attrs string
	// marked says that a prefix shows that the tag is one of calls.
	marked bool
	// empty says that the tag closes itself.
	empty bool
	// end is the place behind the tag.
	end int
}

const maxTag = 512

// tagAt reads the tag at in[i], which is a '<'. The answer is unknown while it
// lacks its end and may yet become a tag of calls; no if it is none.
func tagAt(in string, i int, final bool) (tag, answer) {
	t := tag{}
	j := i + 1
	if j < len(in) && in[j] == '/' {
		t.closing = true
		j++
	}
	j, a := skipPrefix(in, j)
	if a == unknown {
		return t, undecided(final)
	}
	t.marked = a == yes
	from, namespace := j, false
	first := j
	for j < len(in) && (letter(in[j]) || in[j] == '-') && j-from < 32 {
		j++
		if j < len(in) && (in[j] == ':' || in[j] == '|') && tagKinds[in[from:j]] == otherTag { // a namespace
			j++
			from, namespace = j, true
		}
	}
	if j >= len(in) {
		return t, undecided(final || j-i > maxTag)
	}
	t.word, t.namespace = in[from:j], in[first:from]
	t.kind = tagKinds[t.word]
	if t.kind == otherTag && wrapperWords[t.word] {
		t.kind = wrapperTag
	}
	if t.marked && t.word == "calls" {
		t.kind = wrapperTag
	}
	if namespace && strings.HasPrefix(t.word, "function") && t.kind == functionTag {
		return t, no // XSLT has these
	}
	if t.kind > parameterTag && in[j] == ':' { // <tool_call:x>
		for j++; j < len(in) && nameByte(in[j]) && j-from < 64; j++ {
		}
		if j >= len(in) {
			return t, undecided(final)
		}
	}
	if t.kind == otherTag {
		if base, _, cut := cutSuffix(t.word); cut { // <tool_call_x>
			t.kind, t.word = tagKinds[base], base
		} else if base, cut := cutModel(t.word); cut { // <model_tool_call>
			t.kind, t.word = tagKinds[base], base
		}
	}
	if t.kind == otherTag {
		return t, no
	}
	if t.kind != functionTag && t.kind != parameterTag && in[j] != '>' {
		return t, no
	}
	end := attributesEnd(in, j)
	if end < 0 {
		return t, undecided(final || len(in)-j > maxTag)
	}
	t.attrs = strings.TrimSpace(strings.ReplaceAll(in[j:end], "Ġ", " "))
	if strings.HasSuffix(t.attrs, "/") && !strings.HasPrefix(t.attrs, "=") {
		t.empty = true
		t.attrs = strings.TrimSuffix(t.attrs, "/")
	}
	if strings.HasSuffix(t.word, "name") && t.kind != otherTag && strings.HasPrefix(t.attrs, "=") {
		t.attrs = "name" + t.attrs
	}
	t.end = end + 1
	return t, yes
}

// noTag tells at a glance that no tag and no CDATA begins at the '<' at in[i].
func noTag(in string, i int) bool {
	if i+1 >= len(in) {
		return false
	}
	c := in[i+1]
	return c < 0x80 && !letter(c) && c != '/' && c != '!' && c != '|' && c != '-'
}

func undecided(final bool) answer {
	if final {
		return no
	}
	return unknown
}

// cutTag tells whether in is a tag of calls whose end was cut off.
func cutTag(in string) bool {
	if in[0] != '<' || len(in) > maxTag || strings.IndexByte(in, '>') >= 0 {
		return false
	}
	for _, open := range []string{"function", "invoke", "parameter", "tool_call"} {
		at := strings.Index(in, open)
		if at >= 0 && at < 24 && (at == 1 || !letter(in[at-1])) || len(in) > 1 && strings.HasPrefix("<"+open, in) {
			return true
		}
	}
	return false
}

// cutSuffix takes the suffix off a tag that a tokenizer lengthened: tool_call_x.
func cutSuffix(word string) (base, suffix string, ok bool) {
	i := strings.LastIndexByte(word, '_')
	if i < 0 || i == len(word)-1 || len(word)-i > 16 {
		return word, "", false
	}
	switch base := word[:i]; base {
	case "tool_calls", "tool_call", "tool_sep", "arg_key", "arg_value":
		return base, word[i+1:], true
	}
	return word, "", false
}

// cutModel takes the name of a model off a tag: iquest_tool_call.
func cutModel(word string) (base string, ok bool) {
	for _, base := range []string{"tool_call", "tool_calls", "function_call", "function_calls", "arg_key",
		"arg_value"} {
		if rest, ok := strings.CutSuffix(word, "_"+base); ok && rest != "" && !strings.Contains(rest, "_") {
			return base, true
		}
	}
	return word, false
}

// bars are the bars around DSML, also in the wrong characters and too many.
var bars = []string{"｜", "‖", "|", "▁"}

// skipPrefix moves past what some families put at the start of every tag: DSML
// between bars. It is unknown while the input may still become that.
func skipPrefix(in string, j int) (int, answer) {
	k, open := skipBars(in, j)
	if open {
		return j, unknown
	}
	if k == j {
		return j, no
	}
	if !strings.HasPrefix(in[k:], "DSML") {
		if strings.HasPrefix("DSML", in[k:]) {
			return j, unknown
		}
		return j, no
	}
	if k, open = skipBars(in, k+len("DSML")); open {
		return j, unknown
	}
	if k < len(in) && in[k] == ' ' {
		k++
	}
	return k, yes
}

// skipBars moves past bars. It is open when the input ends where a bar may go on.
func skipBars(in string, j int) (next int, open bool) {
	for range 4 {
		at := j
		for _, bar := range bars {
			if strings.HasPrefix(in[j:], bar) {
				j += len(bar)
				break
			}
			if strings.HasPrefix(bar, in[j:]) {
				return j, true
			}
		}
		if at == j {
			break
		}
	}
	return j, false
}

// attributesEnd returns the place of the '>' that ends a tag, past quoted values.
// Inside <name=…> quotes mean nothing.
func attributesEnd(in string, j int) int {
	quote := byte(0)
	limit := min(len(in), j+maxTag)
	for i := j; i < limit; i++ {
		c := in[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '>':
			return i
		case (c == '"' || c == '\'') && i > j && in[i-1] == '=':
			quote = c
		case c == '\n' && in[j] == '=':
			return -1
		}
	}
	return -1
}

// attribute returns the value of an attribute, or of the one without a name for
// "name": <function=f>.
func (t tag) attribute(name string) (string, bool) {
	s := t.attrs
	if name == "name" && strings.HasPrefix(s, "=") {
		return unquoted(s[1:]), true
	}
	for s != "" {
		eq := strings.IndexByte(s, '=')
		if eq < 0 {
			return "", false
		}
		key := strings.TrimSpace(s[:eq])
		rest := strings.TrimLeft(s[eq+1:], " \t\n")
		val, after := attributeValue(rest)
		if key == name {
			return val, true
		}
		s = after
	}
	return "", false
}

// functionName returns the name of the function that a tag calls, without special
// tokens that slipped into it.
func (t tag) functionName() (string, bool) {
	name, ok := t.attribute("name")
	plain, _, _ := strings.Cut(name, "<|")
	return plain, ok
}

func attributeValue(s string) (val, rest string) {
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		if end := strings.IndexByte(s[1:], s[0]); end >= 0 {
			return entities(s[1 : 1+end]), s[2+end:]
		}
		return s[1:], ""
	}
	end := strings.IndexAny(s, " \t\n")
	if end < 0 {
		end = len(s)
	}
	return s[:end], s[end:]
}

func unquoted(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > 1 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return strings.Trim(s, `"'`)
}

var entityReplacer = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&apos;", "'", "&#39;", "'", "&#34;",
	`"`, "&amp;", "&")

// entityNames are what entityReplacer decodes.
var entityNames = []string{"&lt;", "&gt;", "&quot;", "&apos;", "&#39;", "&#34;", "&amp;"}

// entities decodes the entities of XML in a text whose writer escaped: one that
// also has a bare < or > was not escaped and stays as it is.
func entities(s string) string {
	if strings.IndexByte(s, '&') < 0 || strings.ContainsAny(s, "<>") {
		return s
	}
	return entityReplacer.Replace(s)
}
