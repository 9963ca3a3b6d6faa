package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bulkhead-host/bulkhead/host/llm/llmtest"
	"github.com/bulkhead-host/bulkhead/host/packet"
	"github.com/bulkhead-host/bulkhead/host/packet/packettest"
)

// patience is how long a test waits for a process: more than any machine needs, so that a
// test that waits in vain says what it saw.
const patience = 2 * time.Minute

// killRounds is how often the server is killed. In every fifth round nobody waits for the
// server to take a message before.
const killRounds = 30

// acked is a message that the server acknowledged.
type acked struct {
	Run           string `json:"run"`
	SessionID     string `json:"session_id"`
	UserMessageID string `json:"user_message_id"`
	text          string
}

// TestKillLosesNoAcknowledgedMessage kills a serving process at random moments
// while several people write. After each start every acknowledged message must
// be there, and every run must end with a stop.
func TestKillLosesNoAcknowledgedMessage(t *testing.T) {
	model, err := llmtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	model.Answer(slowAnswer)
	data := t.TempDir()
	if err := useModuleCache(data); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("probe: false\ndefault_model: slow\nmodels:\n  - name: slow\n    provider: openai\n    "+
		"base_url: %s\n    model: slow\n", model.URL())
	if err := os.WriteFile(filepath.Join(data, "bulkhead.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var all []acked
	for round := range killRounds {
		host := startHost(t, data)
		host.mustHold(t, all)
		var fresh []acked
		if round%5 != 4 { // else the kill may come before anything is acknowledged
			first, err := host.send("the first of a round")
			if err != nil {
				t.Fatal(err)
			}
			fresh = append(fresh, first)
		}
		fresh = append(fresh, host.writeUntilKilled(time.Duration(random.Int64N(int64(400*time.Millisecond))))...)
		all = append(all, fresh...)
	}
	host := startHost(t, data)
	host.mustHold(t, all)
	host.kill()
	t.Logf("%d rounds, %d acknowledged messages, all there", killRounds, len(all))
	if len(all) < killRounds-killRounds/5 {
		t.Errorf("only %d messages were acknowledged in %d rounds", len(all), killRounds)
	}
}

// slowAnswer calls the search tool where there is one and writes its answer word
// by word.
func slowAnswer(r llmtest.Request) *llmtest.Reply {
	if r.Offers("internal_search") && r.Last().Role == "user" {
		return llmtest.Answer().Text("Let me look.").ToolCall("c", "internal_search", `{"queries":["anything"]}`)
	}
	reply := llmtest.Answer()
	for i := range 100 {
		reply.Text(fmt.Sprintf("word%d ", i)).Pause(2 * time.Millisecond)
	}
	return reply
}

// servingHost is a bulkhead process.
type servingHost struct {
	cmd    *exec.Cmd
	client *http.Client
	exited chan struct{}
}

// startHost starts a process and waits until it serves.
func startHost(t *testing.T, data string) *servingHost {
	t.Helper()
	cmd := exec.Command("bulkhead", "serve", "--listen", "127.0.0.1:0", "--data", data)
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", filepath.Join(data, "run.sock"))
	}}
	h := &servingHost{cmd: cmd, client: &http.Client{Transport: transport, Timeout: patience},
		exited: make(chan struct{})}
	t.Cleanup(h.kill)
	serving := make(chan bool, 1)
	go func() {
		defer close(h.exited)
		lines := bufio.NewScanner(out)
		serving <- lines.Scan()
		for lines.Scan() {
		}
		_ = cmd.Wait() // it is killed
		transport.CloseIdleConnections()
	}()
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }) // which ends its output
	defer late.Stop()
	if !<-serving {
		<-h.exited
		t.Fatalf("the server said nothing within %s: %v\n%s", patience, cmd.ProcessState, log.String())
	}
	return h
}

// kill ends the process as a power cut would, and waits until it is gone.
func (h *servingHost) kill() {
	_ = h.cmd.Process.Signal(syscall.SIGKILL) // it may be gone already
	<-h.exited
}

// writeUntilKilled lets three people write and kills the process after a while.
func (h *servingHost) writeUntilKilled(after time.Duration) []acked {
	var mu sync.Mutex
	var fresh []acked
	var writers sync.WaitGroup
	for person := range 3 {
		writers.Go(func() {
			for n := 0; ; n++ {
				text := fmt.Sprintf("question %d of %d at %d", n, person, time.Now().UnixNano())
				a, err := h.send(text)
				if err != nil {
					return // the process is gone
				}
				mu.Lock()
				fresh = append(fresh, a)
				mu.Unlock()
			}
		})
	}
	time.Sleep(after) // the moment is random, not a condition
	h.kill()
	writers.Wait()
	return fresh
}

func (h *servingHost) send(text string) (acked, error) {
	body, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		return acked{}, err
	}
	resp, err := h.client.Post("http://bulkhead/api/v1/sessions/new/messages", "application/json",
		bytes.NewReader(body))
	if err != nil {
		return acked{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusAccepted {
		return acked{}, fmt.Errorf("%s: %s, %v", resp.Status, data, err)
	}
	a := acked{text: text}
	return a, json.Unmarshal(data, &a)
}

func (h *servingHost) get(t *testing.T, path string, into any) {
	t.Helper()
	resp, err := h.client.Get("http://bulkhead/api/v1/" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(resp.Body)
		t.Fatalf("GET %s: %s: %s", path, resp.Status, data)
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

// mustHold checks that every acknowledged message is there and that its run, of
// an earlier process, has ended as the protocol says.
func (h *servingHost) mustHold(t *testing.T, all []acked) {
	t.Helper()
	for _, a := range all {
		var session struct {
			Messages []struct{ ID, Role, Text, Run, Status string }
		}
		h.get(t, "sessions/"+a.SessionID, &session)
		var log struct {
			Epoch   int64
			Packets []packet.Packet
			Done    bool
		}
		h.get(t, "runs/"+a.Run+"/packets?after=0", &log)
		packettest.Require(t, log.Packets)
		last := log.Packets[len(log.Packets)-1]
		stop, isStop := last.Obj.(packet.Stop)
		if !log.Done || !isStop || last.Placement.ModelIndex != nil {
			t.Fatalf("run %s does not end with a stop: %+v", a.Run, last)
		}
		found := false
		for _, m := range session.Messages {
			if m.ID == a.UserMessageID {
				found = m.Text == a.text
			}
			if m.Role == "assistant" && (m.Text != packettest.Text(log.Packets, 0) || m.Status != string(stop.Reason)) {
				t.Fatalf("run %s: stored %q (%s), packets %q (%s)", a.Run, m.Text, m.Status,
					packettest.Text(log.Packets, 0), stop.Reason)
			}
		}
		if !found {
			t.Fatalf("the acknowledged message %s (%q) is lost", a.UserMessageID, a.text)
		}
	}
}
