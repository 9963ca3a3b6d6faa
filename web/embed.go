// Package web holds the built page, so that the one binary can serve it.
//
// What comes in is the folder dist, which `npm run build` fills; what goes out
// is Dist. The package knows nothing of HTTP and nothing of any other room: the
// page meets the host only over the packets and the REST calls.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var files embed.FS

// Dist is the built page, with index.html at its root. Before the first build
// it holds only .gitkeep. It is read-only and safe for concurrent use.
var Dist fs.FS = sub()

// sub roots the embedded files at dist.
func sub() fs.FS {
	dist, err := fs.Sub(files, "dist")
	if err != nil {
		// fs.Sub fails only for an invalid path, and "dist" is valid.
		panic(err)
	}
	return dist
}
