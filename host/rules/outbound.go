package rules

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// doorway is the folder whose code opens outbound connections.
const doorway = "sandbox/egress"

// inward are files that dial without going out, and why.
var inward = map[string]string{
	"host/cli/client.go": "dials the socket in the data folder, or this process itself",
}

// outboundNames are what opens a connection or looks up a name, by import path.
// A name ending in * stands for all that begin so.
var outboundNames = map[string][]string{
	"net": {"Dial*", "Dialer", "Lookup*", "Resolver", "DefaultResolver"},
	"net/http": {"Get", "Head", "Post", "PostForm", "DefaultClient", "DefaultTransport",
		"Transport"},
	"net/http/httputil":     {"ReverseProxy", "NewSingleHostReverseProxy", "NewClientConn", "NewProxyClientConn"},
	"crypto/tls":            {"Dial*", "Dialer", "Client"},
	"net/smtp":              {"Dial", "SendMail", "NewClient"},
	"net/rpc":               {"Dial*"},
	"net/rpc/jsonrpc":       {"Dial"},
	"syscall":               {"Connect", "Socket"},
	"golang.org/x/sys/unix": {"Connect", "Socket"},
	"github.com/gofiber/fiber/v2": {"Get", "Head", "Post", "Put", "Patch", "Delete", "AcquireClient", "AcquireAgent",
		"Client"},
	"github.com/valyala/fasthttp": {"Dial*", "Get*", "Post", "Do*", "Client", "HostClient", "PipelineClient",
		"LBClient", "TCPDialer"},
	"github.com/coder/websocket": {"Dial"},
}

// CheckOutbound returns a sentence for each place in the host, the runtime or the
// sandbox, outside of tests, that could open an outbound connection and is not
// in sandbox/egress. The error names the file that could not be read.
func CheckOutbound(root string) ([]string, error) {
	var broken []string
	for _, room := range []string{"host", "runtime", "sandbox"} {
		err := filepath.WalkDir(filepath.Join(root, room), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() && skipped(entry.Name()) {
				return filepath.SkipDir
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			name = filepath.ToSlash(name)
			if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || within(name, doorway) ||
				inward[name] != "" {
				return nil
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			found, err := outbound(name, source)
			broken = append(broken, found...)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("look for outbound connections: %w", err)
		}
	}
	return broken, nil
}

// outbound looks through one file.
func outbound(name string, source []byte) ([]string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	imported := map[string]string{}
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		imported[localName(spec, path)] = path
	}
	var broken []string
	say := func(at token.Pos, what string) {
		broken = append(broken, fmt.Sprintf("%s:%d uses %s: only %s opens outbound connections", name,
			files.Position(at).Line, what, doorway))
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if path := pathOf(n.X, imported); listed(outboundNames[path], n.Sel.Name) {
				say(n.Pos(), path+"."+n.Sel.Name)
			}
		case *ast.CompositeLit:
			if isClient(n.Type, imported) && !hasField(n, "Transport") {
				say(n.Pos(), "an http.Client with the process's default transport")
			}
		case *ast.ValueSpec:
			if isClient(n.Type, imported) {
				say(n.Pos(), "an http.Client with the process's default transport")
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "new" && len(n.Args) == 1 && isClient(n.Args[0], imported) {
				say(n.Pos(), "an http.Client with the process's default transport")
			}
		}
		return true
	})
	return broken, nil
}

// localName is what a file calls an import.
func localName(spec *ast.ImportSpec, path string) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	last := path[strings.LastIndexByte(path, '/')+1:]
	if len(last) > 1 && last[0] == 'v' && !strings.ContainsFunc(last[1:],
		func(r rune) bool { return r < '0' || r > '9' }) {
		path = strings.TrimSuffix(path, "/"+last)
		last = path[strings.LastIndexByte(path, '/')+1:]
	}
	return last
}

func pathOf(x ast.Expr, imported map[string]string) string {
	if id, ok := x.(*ast.Ident); ok {
		return imported[id.Name]
	}
	return ""
}

func listed(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		prefix, open := strings.CutSuffix(n, "*")
		return n == name || open && strings.HasPrefix(name, prefix)
	})
}

func isClient(x ast.Expr, imported map[string]string) bool {
	s, ok := x.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "Client" && pathOf(s.X, imported) == "net/http"
}

func hasField(lit *ast.CompositeLit, name string) bool {
	return slices.ContainsFunc(lit.Elts, func(e ast.Expr) bool {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return false
		}
		key, ok := kv.Key.(*ast.Ident)
		return ok && key.Name == name
	})
}
