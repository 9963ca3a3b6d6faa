package capability

import (
	"fmt"
	"slices"
	"strings"
)

// HTTPParams are those of http.
type HTTPParams struct {
	// Allow lists what may be requested; nil for nothing in a manifest, and for
	// all that the manifest asks in a grant.
	Allow []HTTPRule `json:"allow,omitempty"`
	// Also holds further lists that a request must match too; narrowing adds
	// them. It is not part of the JSON.
	Also [][]HTTPRule `json:"-"`
	// MaxResponseBytes caps a response, 0 for the host's default.
	MaxResponseBytes int64 `json:"max_response_bytes,omitempty"`
	// RatePerMinute caps the requests of one user, 0 for the host's default.
	RatePerMinute int64 `json:"rate_per_minute,omitempty"`
	// PrivateNetworks names the hosts on private networks that may be reached, by
	// name, address or network; nil for none. A * in a manifest leaves the naming
	// to the grant; by itself it reaches nothing.
	PrivateNetworks []string `json:"private_networks,omitempty"`
	// Credentials are the secrets to inject, by name.
	Credentials map[string]HTTPCredential `json:"credentials,omitempty"`
}

// HTTPRule is one entry of an allow-list. Empty fields do not narrow.
type HTTPRule struct {
	// Scheme is http or https.
	Scheme string `json:"scheme,omitempty"`
	// Host is a name, *.name or *. It is required.
	Host string `json:"host"`
	// Port is 1 to 65535.
	Port int64 `json:"port,omitempty"`
	// Methods are in upper case.
	Methods []string `json:"methods,omitempty"`
	// PathPrefix begins with a slash.
	PathPrefix string `json:"path_prefix,omitempty"`
	// GraphQL narrows to one kind of operation.
	GraphQL *GraphQLRule `json:"graphql,omitempty"`
}

// GraphQLRule narrows a rule to GraphQL operations.
type GraphQLRule struct {
	// Type is query or mutation.
	Type string `json:"type"`
	// Field is the top field, "" for any.
	Field string `json:"field,omitempty"`
}

// HTTPCredential says where a secret goes. The secret's value is never in it.
type HTTPCredential struct {
	// Hosts are those that may get it.
	Hosts []string `json:"hosts"`
	// Inject says how.
	Inject Injection `json:"inject"`
}

// Injection is how a credential is put into a request.
type Injection struct {
	// Type is bearer, basic, header or query.
	Type string `json:"type"`
	// Name is that of the header or the query parameter.
	Name string `json:"name,omitempty"`
}

// ReadsOnly tells that no rule allows more than GET and HEAD. Rules that name no
// method allow all.
func (p *HTTPParams) ReadsOnly() bool {
	for _, list := range append([][]HTTPRule{p.Allow}, p.Also...) {
		if len(list) > 0 && !slices.ContainsFunc(list, HTTPRule.writes) {
			return true
		}
	}
	return false
}

func (r HTTPRule) writes() bool {
	if len(r.Methods) == 0 {
		return true
	}
	return slices.ContainsFunc(r.Methods, func(m string) bool { return m != "GET" && m != "HEAD" })
}

// Narrow keeps both lists: a request must match a rule of each.
func (p *HTTPParams) Narrow(o Params) Params {
	q := o.(*HTTPParams)
	both := *p
	both.Also = slices.Clone(p.Also)
	if q.Allow != nil {
		both.Also = append(both.Also, q.Allow)
	}
	both.Also = append(both.Also, q.Also...)
	both.MaxResponseBytes = less(p.MaxResponseBytes, q.MaxResponseBytes)
	both.RatePerMinute = less(p.RatePerMinute, q.RatePerMinute)
	both.PrivateNetworks = intersectNamed(p.PrivateNetworks, q.PrivateNetworks)
	if q.Credentials != nil {
		both.Credentials = map[string]HTTPCredential{}
		for name, c := range p.Credentials {
			if g, ok := q.Credentials[name]; ok && g.Inject == c.Inject {
				c.Hosts = intersect(c.Hosts, g.Hosts)
				both.Credentials[name] = c
			}
		}
	}
	return &both
}

// intersectNamed is intersect for lists in which * stands for what the other
// names.
func intersectNamed(a, b []string) []string {
	switch {
	case slices.Contains(a, "*"):
		return slices.Clone(b)
	case slices.Contains(b, "*"):
		return slices.Clone(a)
	}
	return intersect(a, b)
}

func intersect(a, b []string) []string {
	var both []string
	for _, v := range a {
		if slices.Contains(b, v) {
			both = append(both, v)
		}
	}
	return both
}

// Empty tells that no rule is left.
func (p *HTTPParams) Empty() bool {
	if len(p.Allow) == 0 {
		return true
	}
	return slices.ContainsFunc(p.Also, func(l []HTTPRule) bool { return len(l) == 0 })
}

// Describe names the hosts and the credentials.
func (p *HTTPParams) Describe() string {
	var hosts []string
	for _, r := range p.Allow {
		methods := "any method"
		if len(r.Methods) > 0 {
			methods = strings.Join(r.Methods, " or ")
		}
		host := r.Host
		if host == "*" {
			host = "any address"
		}
		hosts = append(hosts, fmt.Sprintf("%s%s by %s", host, strings.TrimSuffix(r.PathPrefix, "/"), methods))
	}
	var creds []string
	for name := range p.Credentials {
		creds = append(creds, name)
	}
	slices.Sort(creds)
	text := ""
	if len(creds) > 0 {
		text = "with the credentials " + strings.Join(creds, ", ")
	}
	return joined(strings.Join(hosts, ", "), text)
}

func (p *HTTPParams) check(path string) error {
	for i, r := range p.Allow {
		if err := r.check(fmt.Sprintf("%s.allow[%d]", path, i)); err != nil {
			return err
		}
	}
	for name, c := range p.Credentials {
		at := path + ".credentials." + name
		if !ValidName(name) {
			return fault(at, "the name of a credential is lower-case letters, digits and _, beginning with a letter")
		}
		if len(c.Hosts) == 0 {
			return fault(at+".hosts", "a credential must name the hosts that may get it")
		}
		if err := c.Inject.check(at + ".inject"); err != nil {
			return err
		}
	}
	return first(notNegative(path+".max_response_bytes", p.MaxResponseBytes),
		notNegative(path+".rate_per_minute", p.RatePerMinute))
}

func (i Injection) check(path string) error {
	if i.Type == "" {
		return fault(path+".type", "it is missing; use bearer, basic, header or query")
	}
	if err := oneOf(path+".type", i.Type, "bearer", "basic", "header", "query"); err != nil {
		return err
	}
	if (i.Type == "header" || i.Type == "query") != (i.Name != "") {
		return fault(path+".name", "header and query need a name, bearer and basic have none")
	}
	return nil
}

func (r HTTPRule) check(path string) error {
	if r.Host == "" {
		return fault(path+".host", "it is missing; name a host, *.example.org or *")
	}
	if rest := strings.TrimPrefix(r.Host, "*."); r.Host != "*" && strings.ContainsAny(rest, "*/:@ ") {
		return fault(path+".host", "%q is not a host name, *.name or *", r.Host)
	}
	if r.Port < 0 || r.Port > 65535 {
		return fault(path+".port", "%d is not between 1 and 65535", r.Port)
	}
	for i, m := range r.Methods {
		if m == "" || m != strings.ToUpper(m) {
			return fault(fmt.Sprintf("%s.methods[%d]", path, i), "%q is not a method in upper case", m)
		}
	}
	if r.PathPrefix != "" && !strings.HasPrefix(r.PathPrefix, "/") {
		return fault(path+".path_prefix", "%q does not begin with /", r.PathPrefix)
	}
	if r.GraphQL != nil {
		if r.GraphQL.Type == "" {
			return fault(path+".graphql.type", "it is missing; use query or mutation")
		}
		return oneOf(path+".graphql.type", r.GraphQL.Type, "query", "mutation")
	}
	return oneOf(path+".scheme", r.Scheme, "http", "https")
}

// ModelParams are those of model.
type ModelParams struct {
	// TokensPerCall and TokensPerTurn cap what is used, 0 for the host's default.
	TokensPerCall int64 `json:"tokens_per_call,omitempty"`
	TokensPerTurn int64 `json:"tokens_per_turn,omitempty"`
	// Models are the names of models; nil for the one that the person picked.
	Models Set `json:"models,omitempty"`
}

func (p *ModelParams) Narrow(o Params) Params {
	q := o.(*ModelParams)
	return &ModelParams{less(p.TokensPerCall, q.TokensPerCall), less(p.TokensPerTurn, q.TokensPerTurn),
		p.Models.and(q.Models)}
}

// Choose returns the name of the model that is asked: the one that the plugin
// names where that was granted; where it names none the one that answers the
// person, or the first that was granted. ok is false where the one it names was
// not granted.
func (p *ModelParams) Choose(named, answering string) (name string, ok bool) {
	switch {
	case named != "":
		return named, p.Models.has(named)
	case p.Models.has(answering):
		return answering, true
	default:
		return p.Models[0], true // an empty set is no right at all
	}
}

// Names are the models that were granted, nil for all.
func (p *ModelParams) Names() []string {
	if p.Models.any() {
		return nil
	}
	return slices.Clone(p.Models)
}

func (p *ModelParams) Empty() bool      { return p.Models != nil && len(p.Models) == 0 }
func (p *ModelParams) Describe() string { return p.Models.describe("models") }
func (p *ModelParams) check(path string) error {
	return first(notNegative(path+".tokens_per_call", p.TokensPerCall),
		notNegative(path+".tokens_per_turn", p.TokensPerTurn), p.Models.checkFilled(path+".models"))
}

// ImageParams are those of image.
type ImageParams struct {
	// Count caps the images of one call, 0 for the host's default.
	Count int64 `json:"count,omitempty"`
	// MaxSide caps width and height in pixels, 0 for the host's default.
	MaxSide int64 `json:"max_side,omitempty"`
}

func (p *ImageParams) Narrow(o Params) Params {
	q := o.(*ImageParams)
	return &ImageParams{less(p.Count, q.Count), less(p.MaxSide, q.MaxSide)}
}
func (p *ImageParams) Empty() bool      { return false }
func (p *ImageParams) Describe() string { return "" }
func (p *ImageParams) check(path string) error {
	return first(notNegative(path+".count", p.Count), notNegative(path+".max_side", p.MaxSide))
}

// MaxToolDepth is how deep tools may call tools.
const MaxToolDepth = 4

// ToolsParams are those of tools.
type ToolsParams struct {
	// Aliases are the names that the plugin uses; the grant binds them to tools.
	Aliases Set `json:"aliases,omitempty"`
	// Depth is 1 to MaxToolDepth, 0 for MaxToolDepth.
	Depth int64 `json:"depth,omitempty"`
}

func (p *ToolsParams) Narrow(o Params) Params {
	q := o.(*ToolsParams)
	return &ToolsParams{p.Aliases.and(q.Aliases), less(p.Depth, q.Depth)}
}
func (p *ToolsParams) Empty() bool      { return p.Aliases != nil && len(p.Aliases) == 0 }
func (p *ToolsParams) Describe() string { return p.Aliases.describe("tools") }
func (p *ToolsParams) check(path string) error {
	if p.Depth < 0 || p.Depth > MaxToolDepth {
		return fault(path+".depth", "%d is not between 1 and %d", p.Depth, MaxToolDepth)
	}
	return p.Aliases.checkFilled(path + ".aliases")
}

// MCPParams are those of mcp.
type MCPParams struct {
	// Servers are the ids of MCP servers; nil for all.
	Servers Set `json:"servers,omitempty"`
}

func (p *MCPParams) Narrow(o Params) Params {
	return &MCPParams{p.Servers.and(o.(*MCPParams).Servers)}
}
func (p *MCPParams) Empty() bool             { return p.Servers != nil && len(p.Servers) == 0 }
func (p *MCPParams) Describe() string        { return p.Servers.describe("servers") }
func (p *MCPParams) check(path string) error { return p.Servers.checkFilled(path + ".servers") }

// SecretsParams are those of secrets.
type SecretsParams struct {
	// Names are the secrets whose existence may be asked for; nil for all.
	Names Set `json:"names,omitempty"`
}

func (p *SecretsParams) Narrow(o Params) Params {
	return &SecretsParams{p.Names.and(o.(*SecretsParams).Names)}
}
func (p *SecretsParams) Empty() bool             { return p.Names != nil && len(p.Names) == 0 }
func (p *SecretsParams) Describe() string        { return p.Names.describe("secrets") }
func (p *SecretsParams) check(path string) error { return p.Names.checkFilled(path + ".names") }
