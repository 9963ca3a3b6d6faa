package cli

import (
	"io"
	"log/slog"

	"github.com/bulkhead-host/bulkhead/host/config"
)

// NewLogger logs to w in a form: everything where verbose is set, else what
// the form says.
func NewLogger(w io.Writer, form config.Log, verbose bool) *slog.Logger {
	o := &slog.HandlerOptions{Level: slog.LevelInfo}
	if form == config.LogQuiet {
		o.Level = slog.LevelWarn
	}
	if verbose {
		o.Level = slog.LevelDebug
	}
	if form == config.LogJSON {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
