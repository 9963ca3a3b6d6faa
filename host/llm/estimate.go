package llm

// frame is what each message, call and tool costs beside its text, in tokens.
const frame = 4

// ImageTokens is what an image is taken to cost. Providers count between some
// hundred and two thousand, by its size.
const ImageTokens = 1600

// Tokens estimates how many tokens a message takes, on the high side; images count
// only where the model sees them.
func (m Message) Tokens(sees bool) int {
	text, images := m.Content(), 0
	if sees && m.HasImages() {
		seen, list := m.Seen()
		text, images = seen, len(list)
	}
	n := frame + Tokens(text) + images*ImageTokens
	for _, c := range m.ToolCalls {
		n += frame + Tokens(c.Name) + Tokens(c.Arguments)
	}
	if m.Native != nil {
		n += Tokens(string(m.Native.Data))
	}
	return n
}

// Tokens estimates how many tokens a request takes, on the high side.
func (r Request) Tokens(sees bool) int {
	n := 0
	for _, m := range r.Messages {
		n += m.Tokens(sees)
	}
	for _, t := range r.Tools {
		n += frame + Tokens(t.Name) + Tokens(t.Description) + Tokens(string(t.Parameters))
	}
	return n
}
