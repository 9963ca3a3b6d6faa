package plugintool

import (
	"context"
	"encoding/json"

	"github.com/bulkhead-host/bulkhead/host/guest"
	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/runtime/pack"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

// Inspection is what can be said of a module without running it.
type Inspection struct {
	// Size is in bytes; SHA256 is in hex.
	Size   int    `json:"size"`
	SHA256 string `json:"sha256"`
	// Protocol is what the exports show.
	Protocol string `json:"protocol"`
	// Manifest is the manifest as it stands in the module, nil for none.
	Manifest json.RawMessage `json:"manifest"`
	// Asks is what the plugin wants, in plain words.
	Asks []capability.Wish `json:"asks"`
	// HostFunctions are the imports of extism:host/user, with the capability that
	// opens each, "" for one that this host does not know.
	HostFunctions []HostFunction `json:"host_functions"`
	// Undeclared are the capabilities whose functions the module imports and its
	// manifest does not ask for: those calls will be denied.
	Undeclared []string `json:"undeclared"`
	// Gaps are sentences about what the plugin asks for or imports and this host does not
	// serve yet.
	Gaps     []string  `json:"gaps"`
	Imports  []string  `json:"imports"`
	Exports  []string  `json:"exports"`
	Sections []Section `json:"sections"`
}

// HostFunction is an import of extism:host/user.
type HostFunction struct {
	Name       string `json:"name"`
	Capability string `json:"capability"`
}

// Section is a custom section.
type Section struct {
	Name string `json:"name"`
	// Size is in bytes.
	Size int `json:"size"`
}

// Inspect reads and compiles a module and says what it is and what it asks for;
// it does not run it. It returns a *guest.Error where the file is at fault.
func Inspect(ctx context.Context, e *engine.Engine, wasm []byte) (Inspection, error) {
	manifest, raw, err := guest.ReadManifest(wasm, "plugin")
	if err != nil {
		return Inspection{}, err
	}
	module, err := guest.Load(ctx, e, wasm, manifest)
	if err != nil {
		return Inspection{}, err
	}
	defer func() { _ = module.Close(ctx) }() // nothing ran in it; closing frees memory only
	in := Inspection{
		Size: len(wasm), SHA256: module.SHA256(), Protocol: string(module.Protocol()), Manifest: raw,
		Asks: append([]capability.Wish{}, manifest.Wishes()...), HostFunctions: []HostFunction{},
		Undeclared: []string{}, Gaps: []string{}, Imports: []string{},
		Exports: append([]string{}, module.Exports()...), Sections: []Section{},
	}
	for _, w := range in.Asks {
		if w.Gap != "" {
			in.Gaps = append(in.Gaps, w.Gap)
		}
	}
	missing := map[string]bool{}
	for _, im := range module.Imports() {
		in.Imports = append(in.Imports, im.Module+" "+im.Name)
		if im.Module != "extism:host/user" {
			continue
		}
		if gap := capability.FunctionGap(im.Name); gap != "" {
			in.Gaps = append(in.Gaps, gap)
		}
		c, _ := capability.ForFunction(im.Name)
		in.HostFunctions = append(in.HostFunctions, HostFunction{im.Name, c.Name})
		if _, asked := manifest.Asks(c.Name); (!asked || manifest.Implicit) && c.Name != "" && !missing[c.Name] {
			missing[c.Name] = true
			in.Undeclared = append(in.Undeclared, c.Name)
		}
	}
	sections, err := pack.Sections(wasm)
	if err != nil {
		return Inspection{}, guest.Damaged(err)
	}
	for _, s := range sections {
		in.Sections = append(in.Sections, Section{s.Name, len(s.Data)})
	}
	return in, nil
}
