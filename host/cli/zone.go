package cli

import (
	"os"
	"strings"
)

// localZone is the IANA name of this machine's time zone, "" where it has none: that of
// TZ, else the one that /etc/localtime leads to.
func localZone(env func(string) string) string {
	if zone := strings.TrimPrefix(env("TZ"), ":"); zone != "" {
		return zone
	}
	target, err := os.Readlink("/etc/localtime")
	if err != nil {
		return ""
	}
	_, zone, found := strings.Cut(target, "/zoneinfo/")
	if !found {
		return ""
	}
	return zone
}
