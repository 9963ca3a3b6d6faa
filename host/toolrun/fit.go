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

// errInexact is told to a model whose call of a tool that writes had to be mended.
var errInexact = errors.New("The call could not be read as it stands: a quote, a bracket or a closing tag is missing. " +
	"The tool changes something, so nothing was guessed and nothing was done. Write the whole call again.") //nolint:staticcheck // sentences for a model

// fit reads the arguments as a JSON object, mended and checked by the tool's schema. For
// a tool that writes nothing is mended. argumentsErr then is what the model is told, a
// *salvage.Misfit or errInexact.
func (c *call) fit(req Request) {
	t := salvage.Tool{Name: req.Name, Parameters: c.spec.InputSchema}
	fit := salvage.Fit
	if hasLabel(c.spec, tool.LabelWrites) {
		if fit = salvage.FitExact; req.Inexact {
			c.argumentsErr = errInexact
			return
		}
	}
	fitted, err := fit(t, cmp.Or(req.Arguments, "{}"))
	if misfit := (*salvage.Misfit)(nil); errors.As(err, &misfit) && len(t.Parameters) > toolset.MaxQuoted {
		misfit.Schema = string(toolset.Schema(t.Parameters, toolset.MaxQuoted)) + " (shortened)"
	}
	if err == nil {
		c.dropped = fitted.Dropped
		err = json.Unmarshal([]byte(fitted.Arguments), &c.arguments)
	}
	c.argumentsErr = err
}

// mostDropped is how many arguments that were left out a model is told of.
const mostDropped = 10

// leftOut tells a model of the arguments that its call had and the tool does not take, ""
// for none.
func (c *call) leftOut() string {
	if len(c.dropped) == 0 || c.argumentsErr != nil {
		return ""
	}
	var names []string
	for _, d := range c.dropped[:min(len(c.dropped), mostDropped)] {
		names = append(names, shorten(d, maxNameRunes))
	}
	if more := len(c.dropped) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("\n[%s takes no such arguments, so they were left out: %s.]", c.name, strings.Join(names, ", "))
}
