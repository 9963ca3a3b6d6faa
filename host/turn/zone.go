package turn

import "time"

// maxZone bounds the name of a time zone, in bytes.
const maxZone = 64

// knownZone is a time zone by its IANA name, "" for one that this host does not know.
func knownZone(name string) string {
	if name == "" || name == "Local" || len(name) > maxZone {
		return ""
	}
	if _, err := time.LoadLocation(name); err != nil {
		return ""
	}
	return name
}

// clock is the time where a question was asked: its day is the person's.
func clock(now func() time.Time, zone string) func() time.Time {
	if zone == "" {
		return now
	}
	at, err := time.LoadLocation(zone)
	if err != nil { // it was known when it was asked
		return now
	}
	return func() time.Time { return now().In(at) }
}
