// Package pack reads and writes the custom sections that make a module a plugin in
// one file: its manifest, its assets, its signature.
//
// Module bytes and section bytes come in and go out. It must not know what a
// manifest says or whether a signature holds.
package pack

import (
	"fmt"

	"github.com/bulkhead-host/bulkhead/runtime/wasmbin"
)

// The custom sections of a plugin.
const (
	// SectionManifest holds the manifest, JSON.
	SectionManifest = "bulkhead.manifest"
	// SectionAssets holds the files that the plugin finds under /assets.
	SectionAssets = "bulkhead.assets"
	// SectionSignature holds the signatures, in the form of the WebAssembly
	// tool-conventions.
	SectionSignature = "signature"
)

// MaxSectionBytes is the largest content of one custom section that WithSection
// writes.
const MaxSectionBytes = 32 << 20

// DuplicateError is returned when a module has two custom sections of a name that
// may stand once: each reader could take another one for the truth.
type DuplicateError struct{ Name string }

// Error implements error.
func (e *DuplicateError) Error() string {
	return fmt.Sprintf("The module has more than one section %q; build it again.", e.Name)
}

// CustomSection is one custom section of a module. Data is a view into the module.
type CustomSection struct {
	Name string
	Data []byte
}

// Sections returns the custom sections of a module in their order. Bytes that are
// not a module give a *wasmbin.Error, and two sections of one of the names above a
// *DuplicateError.
func Sections(wasm []byte) ([]CustomSection, error) {
	all, err := split(wasm)
	if err != nil {
		return nil, err
	}
	var out []CustomSection
	for _, s := range all {
		if s.ID == wasmbin.SectionCustom {
			out = append(out, CustomSection{Name: s.Name, Data: s.Data})
		}
	}
	return out, nil
}

// Section returns the content of the custom section with that name, and whether
// there is one. Errors are those of Sections; a second section of the asked name is
// an error too. The content is a view into the module.
func Section(wasm []byte, name string) (data []byte, found bool, err error) {
	all, err := split(wasm)
	if err != nil {
		return nil, false, err
	}
	for _, s := range all {
		if s.ID != wasmbin.SectionCustom || s.Name != name {
			continue
		}
		if found {
			return nil, false, &DuplicateError{Name: name}
		}
		data, found = s.Data, true
	}
	return data, found, nil
}

// WithSection returns a copy of the module with a custom section of that name and
// content at its end, in place of the one that it had. Everything else is copied
// byte for byte. A signature does not survive: it covered other bytes, and must be
// made again, last.
func WithSection(wasm []byte, name string, data []byte) ([]byte, error) {
	if len(data) > MaxSectionBytes {
		return nil, fmt.Errorf("the section %q has %d bytes; at most %d are written", name, len(data), MaxSectionBytes)
	}
	if _, _, err := Section(wasm, name); err != nil {
		return nil, err
	}
	all, err := split(wasm)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(wasm)+len(name)+len(data)+16)
	out = append(out, wasm[:wasmbin.HeaderSize]...)
	for _, s := range all {
		if s.ID == wasmbin.SectionCustom && (s.Name == name || s.Name == SectionSignature) {
			continue
		}
		out = append(out, wasm[s.Start:s.End]...)
	}
	out = wasmbin.AppendCustom(out, name, data)
	if _, err := split(out); err != nil {
		return nil, fmt.Errorf("add the section %q: %w", name, err)
	}
	return out, nil
}

// split returns all sections, each of ours at most once.
func split(wasm []byte) ([]wasmbin.Section, error) {
	all, err := wasmbin.Sections(wasm, wasmbin.DefaultLimits().CustomSections)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, s := range all {
		if s.ID != wasmbin.SectionCustom {
			continue
		}
		switch s.Name {
		case SectionManifest, SectionAssets, SectionSignature:
			if seen[s.Name] {
				return nil, &DuplicateError{Name: s.Name}
			}
			seen[s.Name] = true
		}
	}
	return all, nil
}
