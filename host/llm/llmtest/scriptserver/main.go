// Command scriptserver is a model server for tests of the page: it prints its address
// and answers completions from a script, until it is told to stop.
//
// The script is built in (--script slow, search, research, reason or hello) or a JSON
// file, a list of replies; the last is repeated. POST /poke?n=N lets the next N words
// of held replies go, the last that began first, GET /requests lists what was asked.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "scriptserver:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("scriptserver", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:0", "address, host:port")
	name := flags.String("script", "hello", "slow, search, research, reason, hello, or a JSON file")
	words := flags.Int("words", 60, "words of the slow reply")
	interval := flags.Int("interval", 0, "milliseconds between words of the slow reply; 0 waits for POST /poke")
	if err := flags.Parse(args); err != nil {
		return err
	}
	pokes := newPokes()
	answer, err := scripted(*name, options{words: *words, interval: time.Duration(*interval) * time.Millisecond,
		pokes: pokes})
	if err != nil {
		return err
	}
	var server *llmtest.Server
	mux := http.NewServeMux()
	mux.HandleFunc("POST /poke", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.URL.Query().Get("n"))
		if err != nil || n < 1 {
			n = 1
		}
		pokes.add(n)
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /requests", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(server.Requests()) // the client left
	})
	if server, err = llmtest.Listen(*listen, mux); err != nil {
		return err
	}
	server.Answer(answer)
	fmt.Println(server.URL())
	<-ctx.Done()
	return server.Close()
}
