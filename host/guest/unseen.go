package guest

import "github.com/bulkhead-host/bulkhead/host/tool"

// Unseen drops what a call shows.
type Unseen struct{}

var _ tool.Reporter = Unseen{}

// Progress implements tool.Reporter.
func (Unseen) Progress(string, *float64) {}

// Output implements tool.Reporter.
func (Unseen) Output(string, string) {}

// Documents implements tool.Reporter.
func (Unseen) Documents([]tool.Document) {}

// Files implements tool.Reporter.
func (Unseen) Files([]tool.File) {}
