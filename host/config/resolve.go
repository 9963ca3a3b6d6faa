package config

import (
	"fmt"
	"regexp"
)

// Secrets finds secrets by name.
type Secrets interface {
	// Secret returns the secret's text; ok is false when there is none of that
	// name.
	Secret(name string) (text string, ok bool, err error)
}

// Resolver is where references of the file are looked up. A nil field makes
// every reference of its kind a mistake.
type Resolver struct {
	// Env looks up an environment variable, as os.LookupEnv does.
	Env func(name string) (string, bool)
	// Secrets is the vault.
	Secrets Secrets
}

// reference is ${kind:NAME}; whatever looks like one and is not is a mistake.
var reference = regexp.MustCompile(`\$\{([^}]*)\}`)

var referenceParts = regexp.MustCompile(`^(env|secret):([A-Za-z_][A-Za-z0-9_.-]*)$`)

// resolution replaces references and collects what went wrong.
type resolution struct {
	Resolver
	where    lines
	mistakes []Mistake
}

// text resolves a setting that people see: no secret may stand in it.
func (r *resolution) text(path, value string) string { return r.replace(path, value, false) }

// secret resolves a setting that is hidden.
func (r *resolution) secret(path, value string) string { return r.replace(path, value, true) }

func (r *resolution) replace(path, value string, hidden bool) string {
	return reference.ReplaceAllStringFunc(value, func(whole string) string {
		inner := whole[2 : len(whole)-1]
		parts := referenceParts.FindStringSubmatch(inner)
		if parts == nil {
			r.mistake(path, "%s: a reference must look like ${env:NAME} or ${secret:NAME}", path)
			return ""
		}
		if parts[1] == "env" {
			return r.env(path, parts[2])
		}
		if !hidden {
			r.mistake(path, "%s: a secret can only stand in api_key", path)
			return ""
		}
		return r.vault(path, parts[2])
	})
}

func (r *resolution) env(path, name string) string {
	if r.Env != nil {
		if text, ok := r.Env(name); ok {
			return text
		}
	}
	r.mistake(path, "%s: the environment variable %s is not set", path, name)
	return ""
}

func (r *resolution) vault(path, name string) string {
	if r.Secrets == nil {
		r.mistake(path, "%s: the secret %s cannot be read: this command has no vault", path, name)
		return ""
	}
	text, ok, err := r.Secrets.Secret(name)
	if err != nil {
		r.mistake(path, "%s: the secret %s cannot be read: %v", path, name, err)
	} else if !ok {
		r.mistake(path, "%s: there is no secret %s; set it with \"bulkhead secret set %s\"", path, name, name)
	}
	return text
}

func (r *resolution) mistake(path, format string, args ...any) {
	r.mistakes = append(r.mistakes, Mistake{r.where[path], fmt.Sprintf(format, args...)})
}
