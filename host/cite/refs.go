package cite

import (
	"regexp"
	"strconv"
)

// shownMarker is a citation as it stands in screen text.
var shownMarker = regexp.MustCompile(`\[\[(\d{1,6})\]\]`)

// ToRefs writes screen text back for the model: each [[n]] whose number has a
// ref becomes [ref]; all else stays.
func ToRefs(text string, refs map[int]int) string {
	return shownMarker.ReplaceAllStringFunc(text, func(marker string) string {
		n, err := strconv.Atoi(marker[2 : len(marker)-2])
		if ref, known := refs[n]; err == nil && known {
			return "[" + strconv.Itoa(ref) + "]"
		}
		return marker
	})
}
