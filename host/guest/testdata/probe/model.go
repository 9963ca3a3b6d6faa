package main

import (
	"fmt"
	"time"

	pdk "github.com/bulkhead-host/bulkhead/pdk/go"
)

type question struct {
	Text      string `json:"text"`
	Role      string `json:"role,omitempty"`
	Model     string `json:"model,omitempty"`
	MaxTokens int    `json:"max_tokens,omitempty"`
	TimeoutMS int    `json:"timeout_ms,omitempty"`
}

func init() {
	pdk.Register(pdk.Func("ask_model", "", "Asks a language model.", askModel))
}

func askModel(_ *pdk.Call, q question) (pdk.Result, error) {
	role := q.Role
	if role == "" {
		role = "user"
	}
	a, err := pdk.ModelComplete(pdk.ModelRequest{
		Messages: []pdk.ModelMessage{{Role: role, Text: q.Text}}, Model: q.Model, MaxTokens: q.MaxTokens,
		Timeout: time.Duration(q.TimeoutMS) * time.Millisecond,
	})
	if err != nil {
		return pdk.Result{}, err
	}
	return pdk.Text(fmt.Sprintf("%s said %s (truncated %t, %d tokens)", a.Model, a.Text, a.Truncated, a.Tokens)), nil
}
