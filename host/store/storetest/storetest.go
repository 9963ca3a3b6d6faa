// Package storetest has data folders for tests: what earlier versions of Bulkhead
// wrote. A test goes in, the path of a folder of its own comes out. It must not know
// what the folders hold beyond the names given here.
package storetest

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// OldSession is the one conversation in OldData: a question and a cited answer.
const OldSession = "s_01M8QJT1R8SHGRD39TSX6K4P51"

// OldData unpacks a data folder as the commit 2e9c0fb wrote it, whose data version is 4,
// and returns its path. It holds the user owner, the document docs/tide.md, OldSession
// and the agent clerk. The data file in it is bulkhead.db. The folder goes with the test.
func OldData(t testing.TB) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "data")
	if err := unpack(folder); err != nil {
		t.Fatalf("unpack the old data folder: %v", err)
	}
	return folder
}

func unpack(folder string) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	file, err := os.Open(filepath.Join(root, "host", "store", "testdata", "olddata.tgz"))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	plain, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	archive := tar.NewReader(plain)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = unpackOne(folder, header, archive)
		}
		if err != nil {
			return err
		}
	}
}

func unpackOne(folder string, header *tar.Header, content io.Reader) error {
	if !filepath.IsLocal(header.Name) {
		return fmt.Errorf("%q leads out of the folder", header.Name)
	}
	path := filepath.Join(folder, header.Name)
	switch header.Typeflag {
	case tar.TypeDir:
		return os.MkdirAll(path, 0o700)
	case tar.TypeReg:
		data, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		return os.WriteFile(path, data, 0o600)
	}
	return fmt.Errorf("%q is neither a file nor a folder", header.Name)
}

// moduleRoot is the folder of go.mod: tests run in the folder of their package.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("no go.mod above the test")
		}
		dir = above
	}
}
