package cli

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/bulkhead-host/bulkhead/host/config"
)

// configName is the configuration's name in the data folder.
const configName = "bulkhead.yaml"

// Options are what all commands share.
type Options struct {
	// DataDir is the data folder.
	DataDir string
	// ConfigFile is the configuration's path; "" for bulkhead.yaml in the data
	// folder, where there is one.
	ConfigFile string
	// Version is the host's own.
	Version string
	// Holder names this process to others, such as "bulkhead chat".
	Holder string
	Logger *slog.Logger
	// Verbose asks for everything in the log.
	Verbose bool
	// Out takes results, Err progress.
	Out, Err io.Writer
	// Settled tells that the command wants all plugins installed and all models
	// found, which takes some seconds on the first start.
	Settled bool
	// JSON asks for output that a program may read.
	JSON bool
}

// Load reads the configuration.
func (o Options) Load() (config.Config, error) {
	path := o.ConfigFile
	if path == "" {
		path = filepath.Join(o.DataDir, configName)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			path = ""
		}
	}
	return config.Load(path, config.Resolver{Env: os.LookupEnv})
}

// DefaultDataDir is where state is kept when nobody says: $BULKHEAD_DATA, else
// the folder for data of the system's user.
func DefaultDataDir(env func(string) string) (string, error) {
	if dir := env("BULKHEAD_DATA"); dir != "" {
		return filepath.Abs(dir)
	}
	switch runtime.GOOS {
	case "windows":
		if dir := env("LOCALAPPDATA"); dir != "" {
			return filepath.Join(dir, "Bulkhead"), nil
		}
	case "darwin":
		if home := env("HOME"); home != "" {
			return filepath.Join(home, "Library", "Application Support", "Bulkhead"), nil
		}
	default:
		if dir := env("XDG_DATA_HOME"); filepath.IsAbs(dir) {
			return filepath.Join(dir, "bulkhead"), nil
		}
		if home := env("HOME"); home != "" {
			return filepath.Join(home, ".local", "share", "bulkhead"), nil
		}
	}
	return "", errors.New("there is no place for data; say where with --data")
}

// baseURL is what a browser on this machine opens for a listen address.
func baseURL(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "http://" + listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// onLoopback tells whether a listen address can be reached from this machine
// only.
func onLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
