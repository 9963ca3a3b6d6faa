package api

import (
	"errors"
	"io/fs"
	"mime"
	"path"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/bulkhead-host/bulkhead/host/fault"
)

// hashedFolder holds the page's files whose names carry a hash of their bytes.
const hashedFolder = "assets/"

// mediaTypes are those of the page's own files. The system's table is not asked:
// with nosniff a wrong entry there would break the page.
var mediaTypes = map[string]string{
	".html":        "text/html; charset=utf-8",
	".js":          "text/javascript; charset=utf-8",
	".mjs":         "text/javascript; charset=utf-8",
	".css":         "text/css; charset=utf-8",
	".json":        "application/json",
	".map":         "application/json",
	".svg":         "image/svg+xml",
	".png":         "image/png",
	".ico":         "image/x-icon",
	".woff2":       "font/woff2",
	".txt":         "text/plain; charset=utf-8",
	".webmanifest": "application/manifest+json",
}

// page serves the files of the browser client. A path that is no file gets
// index.html, since the page has addresses of its own.
func (s *Server) page(c *fiber.Ctx) error {
	if c.Method() != fiber.MethodGet && c.Method() != fiber.MethodHead {
		return fault.Of(fault.MethodNotAllowed)
	}
	if s.cfg.Page == nil {
		return fault.Of(fault.NotFound)
	}
	name := strings.TrimPrefix(path.Clean("/"+c.Path()), "/")
	if name == "" {
		name = "index.html"
	}
	data, err := fs.ReadFile(s.cfg.Page, name)
	if err != nil {
		// A missing file with a name extension is missing; anything else is an
		// address of the page.
		if path.Ext(name) != "" || strings.HasPrefix(name, hashedFolder) {
			return fault.Of(fault.NotFound)
		}
		name = "index.html"
		if data, err = fs.ReadFile(s.cfg.Page, name); errors.Is(err, fs.ErrNotExist) {
			return fault.Of(fault.NotFound)
		}
	}
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, mediaType(name))
	c.Set(fiber.HeaderCacheControl, cacheControl(name))
	return c.Send(data)
}

func cacheControl(name string) string {
	if strings.HasPrefix(name, hashedFolder) {
		return "public, max-age=31536000, immutable"
	}
	return "no-cache"
}

func mediaType(name string) string {
	ext := strings.ToLower(path.Ext(name))
	if t, ok := mediaTypes[ext]; ok {
		return t
	}
	if t := mime.TypeByExtension(ext); t != "" {
		return t
	}
	return "application/octet-stream"
}
