package window

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/llm"
	"github.com/bulkhead-host/bulkhead/host/tool"
)

func exchange(size int) []llm.Message {
	text := strings.Repeat("abc", size)
	return []llm.Message{
		{Role: llm.RoleUser, Text: text},
		{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: "1", Name: "f", Arguments: "{}"}}},
		{Role: llm.RoleTool, ToolCallID: "1", Text: text},
		{Role: llm.RoleAssistant, Text: text},
	}
}

func TestFitDropsWholeExchangesFromTheOldest(t *testing.T) {
	history := append(append(exchange(100), exchange(100)...), llm.Message{Role: llm.RoleUser, Text: "now"})
	fitted, err := Fit(Ask{System: "system", History: history, Latest: 8, ContextTokens: 600})
	if err != nil || fitted.Dropped != 4 || fitted.LeftOut != 1 {
		t.Fatalf("dropped %d, left out %d, %v; want 4 and 1", fitted.Dropped, fitted.LeftOut, err)
	}
	messages := fitted.Messages
	if messages[0].Role != llm.RoleSystem || messages[1].Role != llm.RoleUser || len(messages) != 6 {
		t.Errorf("got %d messages beginning %s, %s", len(messages), messages[0].Role, messages[1].Role)
	}
}

func TestFitKeepsAllWhereTheWindowIsUnknown(t *testing.T) {
	history := exchange(100_000)
	fitted, err := Fit(Ask{History: history})
	if err != nil || fitted.Dropped != 0 || len(fitted.Messages) != len(history) {
		t.Errorf("got %d messages, %d dropped, %v", len(fitted.Messages), fitted.Dropped, err)
	}
}

func TestFitRefusesALatestExchangeThatCannotFit(t *testing.T) {
	if _, err := Fit(Ask{History: exchange(1000), ContextTokens: 500}); !errors.Is(err, ErrTooLong) {
		t.Errorf("got %v, want ErrTooLong", err)
	}
}

func TestTokensCountsWideCharactersEach(t *testing.T) {
	if got := Tokens("漢字"); got != 2 {
		t.Errorf("got %d, want 2", got)
	}
	if got := Tokens("abcdef"); got != 2 {
		t.Errorf("got %d, want 2", got)
	}
}

func TestPromptTellsHowToCiteOnlyWhereSomethingCites(t *testing.T) {
	now := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	if p := Prompt(now, "", []tool.Spec{{Name: "f", Cites: true}}); !strings.Contains(p, "[3]") ||
		!strings.Contains(p, "Monday, 2 March 2026") {
		t.Errorf("got %q", p)
	}
	if p := Prompt(now, "Be brief.", []tool.Spec{{Name: "f"}}); strings.Contains(p, "[3]") {
		t.Errorf("got %q", p)
	}
}
