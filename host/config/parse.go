package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/bulkhead-host/bulkhead/host/llm/provider"
)

// maxFileBytes bounds the file.
const maxFileBytes = 1 << 20

// file is the YAML's own shape: Config with keys as text and with what was left
// out told apart.
type file struct {
	Listen         *string      `yaml:"listen"`
	AllowedOrigins []string     `yaml:"allowed_origins"`
	Models         []fileModel  `yaml:"models"`
	DefaultModel   string       `yaml:"default_model"`
	Egress         *string      `yaml:"egress"`
	LocalServices  []string     `yaml:"local_services"`
	Probe          *bool        `yaml:"probe"`
	Log            string       `yaml:"log"`
	Screen         []ScreenRule `yaml:"screen"`
}

type fileModel struct {
	Name          string `yaml:"name"`
	Provider      string `yaml:"provider"`
	BaseURL       string `yaml:"base_url"`
	Model         string `yaml:"model"`
	APIKey        string `yaml:"api_key"`
	ContextTokens int    `yaml:"context_tokens"`
	NativeTools   string `yaml:"native_tools"`
	Tuning        `yaml:",inline"`
}

// settings lists the names that a type of the file has.
func settings(goType string) string {
	t := reflect.TypeFor[file]()
	switch {
	case strings.HasSuffix(goType, "fileModel"):
		t = reflect.TypeFor[fileModel]()
	case strings.HasSuffix(goType, "ScreenRule"):
		t = reflect.TypeFor[ScreenRule]()
	}
	return strings.Join(names(t), ", ")
}

// names lists the settings of a struct, those of one that stands in it too.
func names(t reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous {
			out = append(out, names(f.Type)...)
		} else {
			out = append(out, f.Tag.Get("yaml"))
		}
	}
	return out
}

// Load reads the file at path. With an empty path it returns Default. The error
// is an *Error, or one that says that the file cannot be read.
func Load(path string, r Resolver) (Config, error) {
	if path == "" {
		return Default(), nil
	}
	name := filepath.Base(path)
	f, err := os.Open(path)
	if err != nil {
		return Config{}, fmt.Errorf("open the configuration: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return Config{}, fmt.Errorf("read the configuration: %w", err)
	}
	return Parse(name, data, r)
}

// Parse reads a configuration. The name is for the messages. An empty file is
// Default. The error is an *Error with every mistake that was found.
func Parse(name string, data []byte, r Resolver) (Config, error) {
	if len(data) > maxFileBytes {
		return Config{}, &Error{File: name, Mistakes: []Mistake{{0, "the file is larger than 1 MiB"}}}
	}
	var in file
	where, mistakes := decode(data, &in)
	if len(mistakes) > 0 {
		return Config{}, newError(name, mistakes)
	}
	c, mistakes := build(&in, where, r)
	mistakes = append(mistakes, check(&c, where)...)
	if len(mistakes) > 0 {
		return Config{}, newError(name, mistakes)
	}
	return c, nil
}

// decode reads the bytes strictly, and where each setting stands.
func decode(data []byte, in *file) (lines, []Mistake) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	err := decoder.Decode(in)
	var types *yaml.TypeError
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil
	case errors.As(err, &types):
		var mistakes []Mistake
		for _, text := range types.Errors {
			mistakes = append(mistakes, fromYAML(text))
		}
		return nil, mistakes
	case err != nil:
		return nil, []Mistake{fromYAML(err.Error())}
	}
	var more yaml.Node
	if err := decoder.Decode(&more); err == nil {
		return nil, []Mistake{{more.Line, "the file must hold one document; take out what follows \"---\""}}
	}
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return nil, []Mistake{fromYAML(err.Error())}
	}
	where := lines{}
	where.collect("", &root, 0)
	return where, nil
}

// build makes a Config, resolving references.
func build(in *file, where lines, r Resolver) (Config, []Mistake) {
	c := Default()
	res := resolution{Resolver: r, where: where}
	if in.Listen != nil {
		c.Listen = res.text("listen", *in.Listen)
	}
	if in.Egress != nil {
		c.Egress = Egress(*in.Egress)
	}
	if in.Probe != nil {
		c.Probe = *in.Probe
	}
	c.Log = Log(in.Log)
	c.DefaultModel = in.DefaultModel
	c.AllowedOrigins = in.AllowedOrigins
	c.LocalServices = in.LocalServices
	c.Screen = in.Screen
	for i, m := range in.Models {
		at := fmt.Sprintf("models[%d].", i)
		c.Models = append(c.Models, Model{
			Name: m.Name, Provider: provider.Name(m.Provider),
			BaseURL: res.text(at+"base_url", m.BaseURL), Model: res.text(at+"model", m.Model),
			APIKey: provider.NewKey(res.secret(at+"api_key", m.APIKey)), ContextTokens: m.ContextTokens,
			NativeTools: NativeTools(m.NativeTools), Tuning: m.Tuning.Normal(),
		})
	}
	return c, res.mistakes
}

// lines tells in which line a setting stands, by its path such as
// models[0].api_key. A nil map knows nothing.
type lines map[string]int

// maxDepth bounds the walk; the file is three levels deep.
const maxDepth = 6

func (l lines) collect(path string, n *yaml.Node, depth int) {
	if depth > maxDepth {
		return
	}
	if path != "" {
		l[path] = n.Line
	}
	switch n.Kind {
	case yaml.DocumentNode:
		for _, child := range n.Content {
			l.collect("", child, depth+1)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			if path != "" {
				name = path + "." + name
			}
			l.collect(name, n.Content[i+1], depth+1)
		}
	case yaml.SequenceNode:
		for i, child := range n.Content {
			l.collect(fmt.Sprintf("%s[%d]", path, i), child, depth+1)
		}
	}
}
