package capability

import (
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func parse(t testing.TB, capabilities string) Manifest {
	t.Helper()
	m, err := ParseManifest([]byte(`{"manifest":1,"name":"a","version":"1","capabilities":` + capabilities + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestEffectiveRightIsManifestAndGrantAndUser(t *testing.T) {
	m := parse(t, `{"knowledge":{},"kv":{"quota_bytes":100},"context":{"fields":["query","citations"]}}`)
	denyKV := func(c string) Mode {
		if c == KV {
			return Deny
		}
		return Allow
	}
	cases := []struct {
		name       string
		grants     Grants
		user       UserRights
		capability string
		want       Mode
	}{
		{"knowledge without a grant", nil, nil, Knowledge, Deny},
		{"kv without a grant", nil, nil, KV, Allow},
		{"knowledge granted", Grants{Knowledge: {Capability: Knowledge, Mode: Allow}}, nil, Knowledge, Allow},
		{"knowledge to be asked", Grants{Knowledge: {Capability: Knowledge, Mode: Ask}}, nil, Knowledge, Ask},
		{"granted but not in the manifest", Grants{HTTP: {Capability: HTTP, Mode: Allow}}, nil, HTTP, Deny},
		{"kv taken back", Grants{KV: {Capability: KV, Mode: Deny}}, nil, KV, Deny},
		{"the user may not", nil, denyKV, KV, Deny},
		{"nothing in common", Grants{Context: {Capability: Context, Mode: Allow,
			Params: json.RawMessage(`{"fields":["history"]}`)}}, nil, Context, Deny},
		{"a broken grant", Grants{KV: {Capability: KV, Mode: Allow, Params: json.RawMessage(`{"qouta":1}`)}}, nil, KV,
			Deny},
		{"a mode that is none", Grants{KV: {Capability: KV, Mode: "yes"}}, nil, KV, Deny},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := Effective(m, c.grants, c.user).Of(c.capability)
			if r.Mode != c.want {
				t.Fatalf("mode is %s, want %s", r.Mode, c.want)
			}
			if (r.Mode == Deny) != (r.Reason != "") {
				t.Fatalf("mode %s has the reason %q", r.Mode, r.Reason)
			}
		})
	}
}

func TestGrantNarrowsParameters(t *testing.T) {
	m := parse(t, `{"kv":{"quota_bytes":100,"scope":"plugin"},"context":{"fields":["query","citations"]}}`)
	r := Effective(m, Grants{
		KV:      {Capability: KV, Mode: Allow, Params: json.RawMessage(`{"quota_bytes":500,"scope":"user"}`)},
		Context: {Capability: Context, Mode: Allow, Params: json.RawMessage(`{"fields":["citations","history"]}`)},
	}, nil)
	if kv := r.Of(KV).Params.(*KVParams); kv.Quota() != 100 || kv.Scope != "user" {
		t.Errorf("kv is %+v", kv)
	}
	c := r.Of(Context).Params.(*ContextParams)
	if !c.Has("citations") || c.Has("query") || c.Has("history") {
		t.Errorf("context is %+v", c)
	}
}

func TestAModuleWithoutManifestGetsOnlyWhatWasGranted(t *testing.T) {
	m := Default("x")
	for name, r := range Effective(m, nil, nil) {
		if r.Mode != Deny {
			t.Errorf("%s is %s without a grant", name, r.Mode)
		}
	}
	r := Effective(m, Grants{HTTP: {Capability: HTTP, Mode: Allow,
		Params: json.RawMessage(`{"allow":[{"host":"example.org"}]}`)}}, nil)
	if r.Of(HTTP).Mode != Allow || r.Of(KV).Mode != Deny {
		t.Errorf("http is %s, kv is %s", r.Of(HTTP).Mode, r.Of(KV).Mode)
	}
}

// TestNarrowingNeverWidens is the law of the intersection of lists.
func TestNarrowingNeverWidens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", "c", "d", "*"}))
		a, b := Set(gen.Draw(t, "a")), Set(gen.Draw(t, "b"))
		if rapid.Bool().Draw(t, "a is nil") {
			a = nil
		}
		both := a.and(b)
		for _, v := range []string{"a", "b", "c", "d"} {
			if both.has(v) != (a.has(v) && b.has(v)) {
				t.Fatalf("%v and %v is %v: wrong for %s", a, b, both, v)
			}
		}
	})
}

func TestLabelsFollowFromDeclarationAndRights(t *testing.T) {
	grantAll := func(m Manifest) Rights { return Effective(m, GrantAll(m), nil) }
	cases := []struct {
		name, capabilities string
		entry              ToolEntry
		surroundings       Surroundings
		want               []string
	}{
		{"nothing granted", `{}`, ToolEntry{Labels: []string{LabelWrites}}, Surroundings{}, []string{}},
		{"kv alone", `{"kv":{}}`, ToolEntry{}, Surroundings{}, []string{}},
		{"knowledge", `{"knowledge":{}}`, ToolEntry{}, Surroundings{}, []string{LabelPrivateData}},
		{"public knowledge", `{"knowledge":{"collections":["docs"]}}`, ToolEntry{},
			Surroundings{PublicCollection: func(string) bool { return true }}, []string{}},
		{"http that reads", `{"http":{"allow":[{"host":"*","methods":["GET"]}]}}`, ToolEntry{}, Surroundings{},
			[]string{LabelUntrustedContent, LabelEgress}},
		{"http that writes", `{"http":{"allow":[{"host":"*"}]}}`, ToolEntry{}, Surroundings{},
			[]string{LabelUntrustedContent, LabelEgress, LabelWrites}},
		{"memory that reads", `{"memory":{"access":["read"]}}`, ToolEntry{}, Surroundings{},
			[]string{LabelPrivateData}},
		{"files", `{"files":{}}`, ToolEntry{}, Surroundings{}, []string{LabelPrivateData, LabelWrites}},
		{"remote model", `{"model":{}}`, ToolEntry{}, Surroundings{}, []string{LabelEgress}},
		{"local model", `{"model":{}}`, ToolEntry{}, Surroundings{LocalModel: func([]string) bool { return true }},
			[]string{}},
		{"mcp", `{"mcp":{}}`, ToolEntry{}, Surroundings{}, AllLabels()},
		{"declared too", `{"kv":{}}`, ToolEntry{Labels: []string{LabelUntrustedContent}}, Surroundings{},
			[]string{LabelUntrustedContent}},
		{"history", `{"context":{}}`, ToolEntry{Needs: []string{"history"}}, Surroundings{},
			[]string{LabelPrivateData}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := ToolLabels(c.entry, grantAll(parse(t, c.capabilities)), c.surroundings)
			if !slices.Equal(got, c.want) && len(got)+len(c.want) > 0 {
				t.Fatalf("labels are %v, want %v", got, c.want)
			}
		})
	}
}

func TestEveryHostFunctionHasOneCapability(t *testing.T) {
	seen := map[string]string{}
	for _, c := range Catalogue() {
		if c.Ask == "" || !c.Default.Valid() || c.NewParams() == nil {
			t.Errorf("%s is incomplete", c.Name)
		}
		for _, f := range c.Functions {
			if seen[f] != "" {
				t.Errorf("%s belongs to %s and %s", f, seen[f], c.Name)
			}
			seen[f] = c.Name
			if got, ok := ForFunction(f); !ok || got.Name != c.Name {
				t.Errorf("ForFunction(%s) is %s", f, got.Name)
			}
		}
	}
}

func TestGrantFileIsStrict(t *testing.T) {
	if _, err := ParseGrants([]byte(`[{"capability":"kv","mode":"allow","params":{"quota_bytes":5}}]`)); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{`{}`, `[{"capability":"kv","mode":"perhaps"}]`, `[{"capability":"x","mode":"allow"}]`,
		`[{"capability":"kv","mode":"allow","params":{"x":1}}]`,
		`[{"capability":"kv","mode":"allow"},{"capability":"kv","mode":"deny"}]`} {
		if _, err := ParseGrants([]byte(bad)); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

func TestAManifestLeavesTheNamingOfPrivateHostsToTheGrant(t *testing.T) {
	m := parse(t, `{"http":{"allow":[{"host":"*"}],"private_networks":["*"]}}`)
	for grant, want := range map[string][]string{
		`{}`: nil, `{"private_networks":["wiki.lan"]}`: {"wiki.lan"}, `{"private_networks":["*"]}`: {"*"},
	} {
		r := Effective(m, Grants{HTTP: {Capability: HTTP, Mode: Allow, Params: json.RawMessage(grant)}}, nil)
		if got := r.Of(HTTP).Params.(*HTTPParams).PrivateNetworks; !slices.Equal(got, want) {
			t.Errorf("%s gives %q", grant, got)
		}
	}
	named := parse(t, `{"http":{"allow":[{"host":"*"}],"private_networks":["a.lan"]}}`)
	r := Effective(named, Grants{HTTP: {Capability: HTTP, Mode: Allow,
		Params: json.RawMessage(`{"private_networks":["b.lan"]}`)}}, nil)
	if got := r.Of(HTTP).Params.(*HTTPParams).PrivateNetworks; len(got) != 0 {
		t.Errorf("a grant widens the manifest to %q", got)
	}
}
