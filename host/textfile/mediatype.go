package textfile

import (
	"mime"
	"path"
	"strings"
)

// types are the media types by the ending of a name. Code has the types that
// name its language.
var types = map[string]string{
	".md": "text/markdown", ".markdown": "text/markdown", ".txt": "text/plain", ".log": "text/plain",
	".csv": "text/csv", ".tsv": "text/tab-separated-values", ".html": "text/html", ".htm": "text/html",
	".css":  "text/css",
	".json": "application/json", ".jsonl": "application/jsonl", ".ndjson": "application/jsonl",
	".ipynb": "application/json",
	".xml":   "application/xml", ".svg": "image/svg+xml", ".yaml": "application/yaml", ".yml": "application/yaml",
	".toml": "application/toml",
	".js":   "text/javascript", ".mjs": "text/javascript", ".ts": "text/x-typescript", ".tsx": "text/x-typescript",
	".jsx": "text/javascript",
	".go":  "text/x-go", ".py": "text/x-python", ".rs": "text/x-rust", ".c": "text/x-c", ".h": "text/x-c",
	".cc": "text/x-c++", ".cpp": "text/x-c++",
	".hpp": "text/x-c++", ".java": "text/x-java", ".kt": "text/x-kotlin", ".rb": "text/x-ruby", ".php": "text/x-php",
	".sh":  "text/x-shellscript",
	".sql": "text/x-sql", ".cs": "text/x-csharp", ".swift": "text/x-swift", ".lua": "text/x-lua", ".r": "text/x-r",
	".diff": "text/x-diff", ".patch": "text/x-diff",
	".tex": "text/x-tex", ".ini": "text/plain", ".conf": "text/plain", ".env": "text/plain",
}

// mediaTypeOf is the type by the name's ending, else what was said if that is a
// type of text, else text/plain.
func mediaTypeOf(name, said string) string {
	if t, known := types[strings.ToLower(path.Ext(name))]; known {
		return t
	}
	if t, _, err := mime.ParseMediaType(said); err == nil && strings.HasPrefix(t, "text/") && len(t) < 100 {
		return t
	}
	return "text/plain"
}
