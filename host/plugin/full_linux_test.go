package plugin_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bulkhead-host/bulkhead/sandbox/capability"
)

// fills wants a program to write at least some bytes and to be kept by an error of a kind.
func (s *scene) fills(t *testing.T, least int, kind string) {
	t.Helper()
	var written int
	var got string
	r := s.call(t, "fill", `{}`)
	if _, err := fmt.Sscan(r.Text, &written, &got); err != nil || written < least || got != kind {
		t.Errorf("%q, failure %+v; want %s", r.Text, r.Failure, kind)
	}
}

// TestAProgramReadsThatItsQuotaIsUsedUp compares what the program's own language makes of the
// number that it got, in memory and on disk.
func TestAProgramReadsThatItsQuotaIsUsedUp(t *testing.T) {
	for name, s := range map[string]*scene{"in memory": withProgram(t), "on disk": withKept(t)} {
		t.Run(name, func(t *testing.T) {
			s.fills(t, 200_000, "quota")
			r := s.call(t, "grow", `{}`)
			if r.Failure != nil || r.Text != "size: quota\nfolder: quota\nopen: quota\nrename: quota\n" {
				t.Errorf("%q, %+v", r.Text, r.Failure)
			}
		})
	}
}

func TestAProgramReadsThatItHasTooManyFilesOpen(t *testing.T) {
	s := withKept(t)
	big := capability.Grant{Capability: capability.Workspace, Mode: capability.Allow,
		Params: []byte(`{"quota_bytes":300000,"persistent":true}`)}
	if err := s.manager.SetGrant(t.Context(), anOperator, "prog", big); err != nil {
		t.Fatal(err)
	}
	if r := s.call(t, "hold", `{}`); r.Failure != nil || r.Text != "256 many\n" {
		t.Errorf("%q, %+v", r.Text, r.Failure)
	}
}

// TestAProgramReadsThatTheDiskIsFull keeps the folder on a disk of a few pages. Only who may
// mount one can run it.
func TestAProgramReadsThatTheDiskIsFull(t *testing.T) {
	s := withKept(t)
	disk := filepath.Join(s.dir, "workspaces")
	if err := os.MkdirAll(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", disk, "tmpfs", 0, "size=128k"); errors.Is(err, fs.ErrPermission) {
		t.Skip("no right to mount a small disk")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	s.fills(t, 64_000, "full")
	if r := s.call(t, "write", `{"path":"/workspace/0","text":"x"}`); r.Failure != nil {
		t.Errorf("a smaller file in the place of one: %q", r.Text)
	}
	if r := s.call(t, "read", `{"path":"/workspace/0"}`); !strings.HasPrefix(r.Text, "x") {
		t.Errorf("%q", r.Text)
	}
}
