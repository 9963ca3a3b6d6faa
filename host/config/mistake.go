package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Error is returned when a configuration cannot be used. It holds no value of the
// file, so that it can be shown and logged.
type Error struct {
	// File is the name that was given for the bytes, "" for none.
	File string
	// Mistakes are in the order of their lines; there is at least one.
	Mistakes []Mistake
}

// Mistake is one thing to mend.
type Mistake struct {
	// Line is counted from 1, 0 where it is not known.
	Line int
	// Message is a sentence for the operator.
	Message string
}

// Error implements error: one mistake per line.
func (e *Error) Error() string {
	lines := make([]string, 0, len(e.Mistakes))
	for _, m := range e.Mistakes {
		where := e.File
		if m.Line > 0 {
			where = strings.TrimPrefix(where+", line "+strconv.Itoa(m.Line), ", ")
		}
		if where != "" {
			where += ": "
		}
		lines = append(lines, where+m.Message)
	}
	return strings.Join(lines, "\n")
}

func newError(file string, mistakes []Mistake) *Error {
	slices.SortStableFunc(mistakes, func(a, b Mistake) int { return a.Line - b.Line })
	return &Error{File: file, Mistakes: mistakes}
}

// What the YAML library says, by shape. Its texts quote values of the file; ours
// do not.
var (
	unknownField = regexp.MustCompile(`^line (\d+): field (.+) not found in type (\S+)$`)
	wrongKind    = regexp.MustCompile(`^line (\d+): cannot unmarshal (\S+).* into (\S+)$`)
	setTwice     = regexp.MustCompile(`^line (\d+): mapping key (".*") already defined at line (\d+)$`)
	atLine       = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)
)

// fromYAML turns a text of the YAML library into a sentence.
func fromYAML(text string) Mistake {
	if m := unknownField.FindStringSubmatch(text); m != nil {
		return Mistake{number(m[1]), fmt.Sprintf("there is no setting %s here; the settings are %s", m[2],
			settings(m[3]))}
	}
	if m := wrongKind.FindStringSubmatch(text); m != nil {
		return Mistake{number(m[1]), "this must be " + kindWords(m[3])}
	}
	if m := setTwice.FindStringSubmatch(text); m != nil {
		return Mistake{number(m[1]), fmt.Sprintf("%s is set twice, first in line %s", m[2], m[3])}
	}
	if m := atLine.FindStringSubmatch(text); m != nil {
		return Mistake{number(m[1]), "this is not valid YAML: " + m[2]}
	}
	return Mistake{0, "this is not valid YAML: " + strings.TrimPrefix(text, "yaml: ")}
}

// number reads digits that a pattern matched; one too long for an int is 0.
func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

func kindWords(goType string) string {
	switch {
	case goType == "int":
		return "a whole number"
	case goType == "bool":
		return "true or false"
	case goType == "[]config.fileModel":
		return "a list of models, each beginning with \"- name:\""
	case goType == "[]config.ScreenRule":
		return "a list of rules, each beginning with \"- name:\""
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	case strings.HasSuffix(goType, "fileModel"), strings.HasSuffix(goType, "ScreenRule"),
		strings.HasSuffix(goType, "file"):
		return "settings of the form \"name: value\""
	}
	return "text"
}
