package salvage

import "strings"

// schema is a JSON Schema, or the part of one, as far as the types of arguments
// go. The zero schema allows everything.
type schema struct {
	root value
	node value
}

// types is a set of JSON types.
type types uint8

const (
	typeString types = 1 << iota
	typeInteger
	typeNumber
	typeBoolean
	typeNull
	typeArray
	typeObject
)

var typeNames = map[string]types{
	"string": typeString, "str": typeString, "text": typeString, "enum": typeString, "varchar": typeString,
	"char":    typeString,
	"integer": typeInteger, "int": typeInteger, "long": typeInteger, "int32": typeInteger, "int64": typeInteger,
	"number": typeNumber, "float": typeNumber, "double": typeNumber,
	"boolean": typeBoolean, "bool": typeBoolean, "null": typeNull,
	"array": typeArray, "list": typeArray, "arr": typeArray,
	"object": typeObject, "dict": typeObject,
}

// typePrefixes are how the names of sized types begin: uint32, varchar(20).
var typePrefixes = []string{"integer", "int", "uint", "float", "double", "varchar", "char", "str", "list", "dict",
	"bool"}

// typeNamed returns the type that a schema names, also by the name that it has in
// other notations; 0 for an unknown one.
func typeNamed(name string) types {
	name = strings.ToLower(name)
	if t := typeNames[name]; t != 0 {
		return t
	}
	for _, prefix := range typePrefixes {
		rest, ok := strings.CutPrefix(name, prefix)
		if ok && strings.Trim(rest, "0123456789()[]_, ") == "" {
			return typeNames[strings.TrimPrefix(prefix, "u")]
		}
	}
	return 0
}

func parseSchema(data []byte) schema {
	v, ok := wholeLiteral(string(data))
	if !ok || v.kind != object {
		return schema{}
	}
	return schema{root: v, node: v}
}

func (s schema) at(node value) schema { return schema{root: s.root, node: node}.resolved() }

// resolved follows $ref within the document, at most a few times.
func (s schema) resolved() schema {
	for range 8 {
		ref := s.node.get("$ref").str
		if !strings.HasPrefix(ref, "#") {
			return s
		}
		node := s.root
		for _, part := range strings.Split(strings.TrimPrefix(ref, "#"), "/") {
			if part != "" {
				part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
				node = node.get(part)
			}
		}
		s.node = node
	}
	return s
}

// known tells whether the schema says anything.
func (s schema) known() bool { return s.node.kind == object && len(s.node.keys) > 0 }

// types returns the types that the schema allows, 0 for any.
func (s schema) types() types { return s.typesTo(0) }

func (s schema) typesTo(depth int) types {
	if depth > 8 {
		return 0
	}
	var t types
	switch declared := s.node.get("type"); declared.kind {
	case text:
		t = typeNamed(declared.str)
	case list:
		for _, item := range declared.items {
			t |= typeNamed(item.str)
		}
	}
	if t == 0 {
		t = s.implied(depth)
	}
	if nullable := s.node.get("nullable"); t != 0 && nullable.str == "true" {
		t |= typeNull
	}
	return t
}

// implied finds the types in what stands there instead of a type.
func (s schema) implied(depth int) types {
	var t types
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		for _, branch := range s.node.get(key).items {
			t |= s.at(branch).typesTo(depth + 1)
		}
	}
	if t != 0 {
		return t
	}
	for _, item := range append(s.node.get("enum").items, s.node.get("const")) {
		t |= typeOf(item)
	}
	switch {
	case t != 0:
		return t
	case s.node.get("properties").kind == object:
		return typeObject
	case s.node.get("items").kind == object:
		return typeArray
	}
	return 0
}

// branchFor returns the branch of anyOf, oneOf or allOf that allows t, or s itself.
func (s schema) branchFor(t types) schema {
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		for _, branch := range s.node.get(key).items {
			if b := s.at(branch); b.types()&t != 0 {
				return b.branchFor(t)
			}
		}
	}
	return s
}

// property returns the schema of a field. Without a word about it, it is the zero
// schema.
func (s schema) property(name string) schema {
	o := s.branchFor(typeObject)
	if p := o.node.get("properties").get(name); p.kind == object {
		return s.at(p)
	}
	if p := o.node.get("additionalProperties"); p.kind == object {
		return s.at(p)
	}
	return schema{root: s.root}
}

// has tells whether the schema names a field.
func (s schema) has(name string) bool {
	return s.branchFor(typeObject).node.get("properties").get(name).kind != absent
}

// names returns the fields that the schema names, in its order.
func (s schema) names() []string { return s.branchFor(typeObject).node.get("properties").keys }

// items returns the schema of an array's elements.
func (s schema) items() schema {
	if i := s.branchFor(typeArray).node.get("items"); i.kind == object {
		return s.at(i)
	}
	return schema{root: s.root}
}

// required returns the fields that must be there.
func (s schema) required() []string {
	var names []string
	for _, item := range s.branchFor(typeObject).node.get("required").items {
		names = append(names, item.str)
	}
	return names
}

// allows tells whether an enum, if there is one, has v.
func (s schema) allows(v value) bool {
	enum := s.node.get("enum")
	if enum.kind != list {
		return true
	}
	for _, item := range enum.items {
		if item.kind == v.kind && item.str == v.str {
			return true
		}
	}
	return false
}

func typeOf(v value) types {
	switch v.kind {
	case null:
		return typeNull
	case boolean:
		return typeBoolean
	case number:
		if strings.ContainsAny(v.str, ".eE") {
			return typeNumber
		}
		return typeInteger | typeNumber
	case text:
		return typeString
	case list:
		return typeArray
	case object:
		return typeObject
	}
	return 0
}
