package toolrun

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/salvage"
	"github.com/bulkhead-host/bulkhead/host/tool"
	"github.com/bulkhead-host/bulkhead/host/toolset"
)

// inexact is told to a model whose call of a tool that writes had to be mended.
type inexact struct{}

// Error implements error.
func (inexact) Error() string {
	return "The call could not be read as it stands: a quote, a bracket or a closing tag is missing. " +
		"The tool changes something, so nothing was guessed and nothing was done. Write the whole call again."
}

// Fitted are the arguments that a tool gets.
type Fitted struct {
	Arguments map[string]json.RawMessage
	// Dropped are the paths of arguments that the tool does not take.
	Dropped []string
}

// Fit reads the arguments of a call as a JSON object, mended and checked by the tool's
// schema. For a tool that writes nothing is mended. The error is a text for the model: a
// *salvage.Misfit, or that a call which had to be mended must be written again.
func Fit(spec tool.Spec, req Request) (Fitted, error) {
	t := salvage.Tool{Name: req.Name, Parameters: spec.InputSchema}
	fit := salvage.Fit
	if hasLabel(spec, tool.LabelWrites) {
		if fit = salvage.FitExact; req.Inexact {
			return Fitted{}, inexact{}
		}
	}
	fitted, err := fit(t, cmp.Or(req.Arguments, "{}"))
	if misfit := (*salvage.Misfit)(nil); errors.As(err, &misfit) && len(t.Parameters) > toolset.MaxQuoted {
		misfit.Schema = string(toolset.Schema(t.Parameters, toolset.MaxQuoted)) + " (shortened)"
	}
	if err != nil {
		return Fitted{}, err
	}
	f := Fitted{Dropped: fitted.Dropped}
	err = json.Unmarshal([]byte(fitted.Arguments), &f.Arguments)
	return f, err
}

// BadArguments is the result of a call whose arguments Fit refused with err.
func BadArguments(spec tool.Spec, err error) tool.Result { return badArguments(spec, err) }

// mostDropped is how many arguments that were left out a model is told of.
const mostDropped = 10

// LeftOut tells a model, behind the result of a call, which arguments the tool does not
// take, "" for none.
func (f Fitted) LeftOut(name string) string {
	if len(f.Dropped) == 0 {
		return ""
	}
	var names []string
	for _, d := range f.Dropped[:min(len(f.Dropped), mostDropped)] {
		names = append(names, shorten(d, maxNameRunes))
	}
	if more := len(f.Dropped) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("\n[%s takes no such arguments, so they were left out: %s.]", name, strings.Join(names, ", "))
}
