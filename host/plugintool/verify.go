package plugintool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/guest"
	"github.com/bulkhead-host/bulkhead/runtime/engine"
	"github.com/bulkhead-host/bulkhead/runtime/pack"
	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

// Verification is what was found out about a module file.
type Verification struct {
	Inspection
	// Tools are the names that the module lists with nothing granted.
	Tools []string `json:"tools"`
	// Signed tells that there is a signature. Whether it holds is not looked at.
	Signed bool `json:"signed"`
	// Problems keep the file from being what its author means, Warnings need not.
	Problems []string `json:"problems"`
	Warnings []string `json:"warnings"`
	// Compared has an entry for each call that was made under both, nil where nothing was
	// to be compared.
	Compared []Comparison `json:"compared"`
}

// Good tells whether nothing is wrong.
func (v Verification) Good() bool {
	return len(v.Problems) == 0 && !slices.ContainsFunc(v.Compared,
		func(c Comparison) bool { return len(c.Differences) > 0 })
}

// VerifyOptions say how much is looked at.
type VerifyOptions struct {
	// Reference runs the module on the reference SDK too.
	Reference bool
	// Arguments are those of tools by their names; others get an example that is made from
	// their schema.
	Arguments map[string]json.RawMessage
}

// Verify checks a module as an install does, with nothing granted, looks whether its parts
// agree, and compares it with the reference SDK if asked to. It returns a *guest.Error where the
// file cannot be loaded at all.
func Verify(ctx context.Context, e *engine.Engine, wasm []byte, o VerifyOptions) (v Verification, err error) {
	manifest, _, err := guest.ReadManifest(wasm, "plugin")
	if err != nil {
		return v, err
	}
	if v.Inspection, err = Inspect(ctx, e, wasm); err != nil {
		return v, err
	}
	if _, err := guest.ReadAssets(wasm, manifest); err != nil {
		return v, err
	}
	if _, v.Signed, err = pack.Section(wasm, pack.SectionSignature); err != nil {
		return v, guest.Damaged(err)
	}
	v.Tools, v.Problems, v.Warnings = []string{}, []string{}, []string{}
	module, err := guest.Load(ctx, e, wasm, manifest)
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, module.Close(ctx)) }()
	tools, err := guest.ListTools(ctx, module, manifest, nil)
	var bad *guest.Error
	if errors.As(err, &bad) {
		v.Problems = append(v.Problems, bad.Message)
		return v, nil
	}
	if err != nil {
		return v, err
	}
	for _, l := range tools {
		v.Tools = append(v.Tools, l.Name)
	}
	v.agree(manifest)
	for _, name := range slices.Sorted(maps.Keys(o.Arguments)) {
		if !slices.Contains(v.Tools, name) {
			v.Problems = append(v.Problems, fmt.Sprintf("There are arguments for %q, which is none of the tools.",
				name))
		}
	}
	if o.Reference {
		err = v.compare(ctx, module, wasm, manifest, tools, o.Arguments)
	}
	return v, err
}

// agree looks whether manifest and module say the same.
func (v *Verification) agree(m capability.Manifest) {
	if v.Signed {
		v.Warnings = append(v.Warnings, "The file has a signature. This host does not check signatures.")
	}
	v.Warnings = append(v.Warnings, v.Gaps...)
	if m.Implicit {
		v.Warnings = append(v.Warnings, "The module has no manifest, so it is installed without any capability.")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m.Tools)) {
		if name == capability.AnyTool || slices.Contains(v.Tools, name) {
			continue
		}
		text := fmt.Sprintf("The manifest has an entry for the tool %q, which the module does not list.", name)
		if m.Dynamic {
			v.Warnings = append(v.Warnings, text)
		} else {
			v.Problems = append(v.Problems, text)
		}
	}
	for _, c := range v.Undeclared {
		v.Warnings = append(v.Warnings, fmt.Sprintf("The module uses %s without asking for it; those calls are denied.",
			c))
	}
}

// ours are the imports of modules that only this host has.
func (v *Verification) ours() []string {
	var list []string
	for _, im := range v.Imports {
		if strings.HasPrefix(im, "bulkhead:") {
			list = append(list, im)
		}
	}
	return list
}
