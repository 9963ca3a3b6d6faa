// Package plugins holds the built-in tools, each a folder that compiles to one
// .wasm file, and embeds what was built of them.
//
// The folders are main packages for GOOS=wasip1, which meet the host over the
// ABI only. The build puts their modules into dist; a binary built without that
// step has none.
package plugins

import "embed"

// Dist has the built modules as dist/NAME.wasm.
//
//go:embed all:dist
var Dist embed.FS
