package frame

import "github.com/bulkhead-host/bulkhead/host/turn"

// LiveRun names a run that is going on.
type LiveRun struct {
	Run   string `json:"run"`
	Epoch int64  `json:"epoch"`
}

// LiveRuns are runs that are going on, as clients read them.
func LiveRuns(runs []turn.LiveRun) []LiveRun {
	out := make([]LiveRun, 0, len(runs))
	for _, r := range runs {
		out = append(out, LiveRun{r.Run, r.Epoch})
	}
	return out
}
