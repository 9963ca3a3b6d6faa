package rest

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/bulkhead-host/bulkhead/host/api/frame"
	"github.com/bulkhead-host/bulkhead/host/fault"
	"github.com/gofiber/fiber/v2"
)

// cursorOf reads where a client of a run's event stream is: the header
// Last-Event-ID, else the query. known is false where neither names an epoch.
func cursorOf(c *fiber.Ctx) (epoch, after int64, known bool, err error) {
	if last := c.Get("Last-Event-ID"); last != "" {
		e, n, ok := strings.Cut(last, ".")
		epoch, err1 := strconv.ParseInt(e, 10, 64)
		after, err2 := strconv.ParseInt(n, 10, 64)
		if !ok || err1 != nil || err2 != nil || after < 0 {
			return 0, 0, false, fault.New(fault.Invalid, "Last-Event-ID must be epoch.seq, such as 1.17.")
		}
		return epoch, after, true, nil
	}
	if epoch, err = queryInt(c, "epoch", 0); err != nil {
		return 0, 0, false, err
	}
	after, err = queryInt(c, "after", 0)
	return epoch, after, c.Query("epoch") != "", err
}

// queryInt reads a number that is not negative from the query.
func queryInt(c *fiber.Ctx, name string, otherwise int64) (int64, error) {
	text := c.Query(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fault.New(fault.Invalid, "The query's "+name+" must be a number that is not negative.")
	}
	return n, nil
}

// stamp is a time as JSON has it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// readJSON reads the request's body, strictly.
func readJSON(c *fiber.Ctx, into any) error {
	if t, _, _ := strings.Cut(c.Get(fiber.HeaderContentType), ";"); strings.TrimSpace(t) != fiber.MIMEApplicationJSON {
		return fault.Of(fault.NotJSON)
	}
	if len(c.Body()) > frame.MaxBytes {
		return fault.New(fault.TooLarge, "The body is larger than 1 MiB.")
	}
	if !json.Valid(c.Body()) {
		return fault.New(fault.Invalid, "The body is not valid JSON.")
	}
	if err := frame.DecodeStrict(c.Body(), into); err != nil {
		return fault.New(fault.Invalid, frame.Sentence("body", err))
	}
	return nil
}
