// Command command is a WASI program for tests: its first argument says what it does.
package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		fail(2, "usage: command WHAT")
	}
	args := os.Args[2:]
	does := map[string]func([]string){
		"args":  func(args []string) { fmt.Printf("%q\n", args) },
		"upper": upper,
		"env":   func([]string) { fmt.Println(len(os.Environ())) },
		"exit":  exit,
		"write": write,
		"read":  func(args []string) { os.Stdout.Write(must(os.ReadFile(args[0]))) },
		"tree":  tree,
		"files": files,
		"flood": flood,
		"fill":  fill,
		"hold":  hold,
		"grow":  grow,
		"loop": func([]string) {
			for i := 0; ; i++ {
				_ = i
			}
		},
		"sleep": func([]string) { time.Sleep(time.Hour) },
		"panic": func([]string) { panic("it broke") },
		"raw":   func([]string) { os.Stdout.WriteString("a\xffb") },
	}[os.Args[1]]
	if does == nil {
		fail(2, "unknown: "+os.Args[1])
	}
	does(args)
}

func fail(code int, why string) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(code)
}

func must[T any](v T, err error) T {
	if err != nil {
		fail(1, err.Error())
	}
	return v
}

func upper([]string) { fmt.Print(strings.ToUpper(string(must(io.ReadAll(os.Stdin))))) }

func exit(args []string) {
	fmt.Println("before")
	fail(must(strconv.Atoi(args[0])), "the reason")
}

func write(args []string) {
	must(0, os.WriteFile(args[0], []byte(args[1]), 0o644))
	fmt.Print("written")
}

// tree prints what lies below a folder.
func tree(args []string) {
	must(0, filepath.WalkDir(args[0], func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fmt.Println(path, d.IsDir())
		return nil
	}))
}

// files does to a folder what programs do, and says what went wrong.
func files(args []string) {
	dir := args[0]
	at := func(name string) string { return filepath.Join(dir, name) }
	step := func(what string, ok bool) {
		if !ok {
			fmt.Println("wrong:", what)
		}
	}
	must(0, os.MkdirAll(at("a/b"), 0o755))
	must(0, os.WriteFile(at("a/b/c.txt"), []byte("hello"), 0o644))
	f := must(os.OpenFile(at("a/b/c.txt"), os.O_APPEND|os.O_RDWR, 0))
	must(f.WriteString(", world"))
	must(f.Seek(0, io.SeekStart))
	step("append and read", string(must(io.ReadAll(f))) == "hello, world")
	must(0, f.Close())
	f = must(os.OpenFile(at("a/b/c.txt"), os.O_RDWR, 0))
	must(f.WriteAt([]byte("J"), 0))
	must(0, f.Close())
	step("rewrite", string(must(os.ReadFile(at("a/b/c.txt")))) == "Jello, world")
	must(0, os.Truncate(at("a/b/c.txt"), 5))
	info := must(os.Stat(at("a/b/c.txt")))
	step("size", info.Size() == 5 && !info.IsDir() && !info.ModTime().IsZero())
	_, err := os.Stat(at("none"))
	step("not there", errors.Is(err, fs.ErrNotExist))
	step("exclusive", errors.Is(openErr(at("a/b/c.txt"), os.O_CREATE|os.O_EXCL|os.O_WRONLY), fs.ErrExist))
	step("a folder is not written", openErr(at("a"), os.O_WRONLY) != nil)
	step("a folder that is not empty stays", os.Remove(at("a/b")) != nil)
	must(0, os.Rename(at("a/b/c.txt"), at("a/d.txt")))
	must(0, os.Rename(at("a"), at("z")))
	step("moved", string(must(os.ReadFile(at("z/d.txt")))) == "Jello")
	g := must(os.Open(at("z/d.txt")))
	must(0, os.Remove(at("z/d.txt")))
	step("open though removed", string(must(io.ReadAll(g))) == "Jello")
	must(0, g.Close())
	for i := range 50 {
		must(0, os.WriteFile(at(fmt.Sprintf("z/%02d", i)), nil, 0o644))
	}
	entries := must(os.ReadDir(at("z")))
	step("list", len(entries) == 51 && entries[0].Name() == "00" && entries[50].Name() == "b" && entries[50].IsDir())
	must(0, os.RemoveAll(at("z")))
	step("all removed", len(must(os.ReadDir(dir))) == 0)
	_, err = os.Stat(filepath.Join(dir, "../../etc/passwd"))
	step("no way out", err != nil)
	fmt.Println("done")
}

func openErr(name string, flag int) error {
	f, err := os.OpenFile(name, flag, 0o644)
	if err == nil {
		f.Close()
	}
	return err
}

// flood prints without end.
func flood([]string) {
	line := strings.Repeat("x", 1023) + "\n"
	for {
		fmt.Print(line)
	}
}

// kindOf says which of the errors of full things one is.
func kindOf(err error) string {
	for kind, number := range map[string]syscall.Errno{"quota": syscall.EDQUOT, "full": syscall.ENOSPC,
		"many": syscall.EMFILE} {
		if errors.Is(err, number) {
			return kind
		}
	}
	return err.Error()
}

// hold opens files until it may not, and prints how many and what kept it.
func hold(args []string) {
	var list []*os.File
	for {
		f, err := os.Create(filepath.Join(args[0], strconv.Itoa(len(list))))
		if err != nil {
			fmt.Println(len(list), kindOf(err))
			return
		}
		list = append(list, f)
	}
}

// grow makes a file long, and then folders, files and long names until there is no more room,
// and prints what kept each.
func grow(args []string) {
	at := func(n int, last string) string { return filepath.Join(args[0], strconv.Itoa(n)+last) }
	until := func(what string, f func(n int) error) {
		for n := range 10_000 {
			if err := f(n); err != nil {
				fmt.Println(what, kindOf(err))
				return
			}
		}
		fmt.Println(what, "no end")
	}
	f := must(os.Create(at(0, "long")))
	until("size:", func(int) error { return f.Truncate(1 << 40) })
	until("folder:", func(n int) error { return os.Mkdir(at(n, strings.Repeat("d", 200)), 0o755) })
	for n := range 5 {
		must(0, os.Remove(at(n, strings.Repeat("d", 200))))
	}
	until("open:", func(n int) error {
		f, err := os.Create(at(n, "f"))
		if err == nil {
			err = f.Close()
		}
		return err
	})
	until("rename:", func(n int) error { return os.Rename(at(n, "f"), at(n, strings.Repeat("r", 200))) })
}

// fill writes files until it may not, and prints how many bytes it wrote and what kept it.
func fill(args []string) {
	block := make([]byte, 64<<10)
	written := 0
	for i := 0; ; i++ {
		f, err := os.Create(filepath.Join(args[0], strconv.Itoa(i)))
		for n := 0; err == nil && n < 4; n++ {
			var k int
			k, err = f.Write(block)
			written += k
		}
		if err != nil {
			fmt.Println(written, kindOf(err))
			return
		}
		f.Close()
	}
}
