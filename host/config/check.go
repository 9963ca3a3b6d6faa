package config

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/llm/provider"
)

// checker looks at a whole Config and collects sentences.
type checker struct {
	where    lines
	mistakes []Mistake
}

func check(c *Config, where lines) []Mistake {
	k := &checker{where: where}
	k.listen(c.Listen)
	for i, origin := range c.AllowedOrigins {
		k.origin(fmt.Sprintf("allowed_origins[%d]", i), origin)
	}
	if c.Log != LogQuiet {
		k.oneOf("log", string(c.Log), "text", "json")
	}
	k.oneOf("egress", string(c.Egress), "none", "public", "private")
	for i, service := range c.LocalServices {
		k.service(fmt.Sprintf("local_services[%d]", i), service)
	}
	k.screen(c.Screen)
	lineOf := map[string]bool{}
	for i := range c.Models {
		k.model(fmt.Sprintf("models[%d]", i), &c.Models[i])
		name := c.Models[i].Name
		if name != "" && lineOf[name] {
			k.add(fmt.Sprintf("models[%d].name", i), "the name %q is used by more than one model", name)
		}
		lineOf[name] = true
	}
	return k.mistakes
}

func (k *checker) add(path, format string, args ...any) {
	line, known := k.where[path]
	if !known { // a setting that is missing is reported where its parent stands
		if at := strings.LastIndex(path, "."); at > 0 {
			line = k.where[path[:at]]
		}
	}
	k.mistakes = append(k.mistakes, Mistake{line, fmt.Sprintf(format, args...)})
}

func (k *checker) listen(address string) {
	_, port, err := net.SplitHostPort(address)
	n, portErr := strconv.Atoi(port)
	if err != nil || portErr != nil || n < 0 || n > 65535 {
		k.add("listen", "listen must look like %s", DefaultListen)
	}
}

func (k *checker) origin(path, origin string) {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.User != nil || u.Scheme != "http" &&
		u.Scheme != "https" {
		k.add(path, "%s must look like https://chat.example.org", path)
	}
}

func (k *checker) service(path, service string) {
	host, port, err := net.SplitHostPort(service)
	n, portErr := strconv.Atoi(port)
	if err != nil || portErr != nil || host == "" || n < 1 || n > 65535 || strings.ContainsAny(service, "/@*?#% ") {
		k.add(path, "%s must look like 127.0.0.1:9200 or wiki.lan:443, one host with its port", path)
	}
}

func (k *checker) oneOf(path, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		k.add(path, "%s must be one of %s", path, strings.Join(allowed, ", "))
	}
}

// model checks one model and fills in its defaults.
func (k *checker) model(path string, m *Model) {
	if m.NativeTools == "" {
		m.NativeTools = NativeToolsAuto
	}
	if strings.TrimSpace(m.Name) == "" {
		k.add(path+".name", "%s needs a name, which is what a person picks", path)
	}
	if m.ContextTokens < 0 {
		k.add(path+".context_tokens", "%s.context_tokens must be a positive number", path)
	}
	k.oneOf(path+".native_tools", string(m.NativeTools), "auto", "yes", "no")
	k.oneOf(path+".provider", string(m.Provider), provider.Names()...)
	known, _ := provider.Get(m.Provider) // oneOf has told of one that is none
	for _, mistake := range m.Tuning.Check(m.Provider) {
		at := path + "." + mistake.Field
		k.add(at, "%s %s", at, mistake.Says)
	}
	if known.Builtin {
		return
	}
	if m.Model == "" {
		k.add(path+".model", "%s needs model, the endpoint's own name of the model", path)
	}
	if m.BaseURL == "" && known.BaseURL == "" && known.Name != "" {
		k.add(path+".base_url", "%s needs base_url, such as %s", path, known.ExampleURL)
	}
	if m.BaseURL != "" {
		k.baseURL(path+".base_url", m.BaseURL)
	}
}

func (k *checker) baseURL(path, base string) {
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		k.add(path, "%s must look like http://127.0.0.1:11434/v1", path)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		k.add(path, "%s must hold no user name, password, query or fragment; a key belongs into api_key", path)
	}
}
