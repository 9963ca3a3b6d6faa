package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// sumName is the file that holds the checksum of a module's folder.
const sumName = "sum"

// errDamaged is returned when a folder does not have the content that it was sealed with.
var errDamaged = errors.New("the folder in the cache is damaged")

// verify returns the content of a folder's entry if the whole folder has the content that it
// was sealed with.
func verify(folder string) (entry []byte, err error) {
	path := filepath.Join(folder, sumName)
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() != int64(hex.EncodedLen(sha256.Size)) {
		return nil, errDamaged // reading a pipe would wait for who writes to it
	}
	want, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	got, entry, err := folderSum(folder)
	if err != nil {
		return nil, err
	}
	if got != string(want) {
		return nil, errDamaged
	}
	return entry, nil
}

// maxEntryBytes is more than the entry of any module within the limits has.
const maxEntryBytes = 1 << 30

// sumBlock is how much of a file is read at a time.
const sumBlock = 256 << 10

// digest is a checksum of 64 bits over a file's content: two of 32 bits whose polynomials
// have no common factor, which is one with their product. The processor does both at memory's
// speed, and nobody is to be kept from forging it.
type digest struct{ ieee, castagnoli hash.Hash32 }

func newDigest() digest {
	return digest{crc32.NewIEEE(), crc32.New(crc32.MakeTable(crc32.Castagnoli))}
}

// Write implements io.Writer; it never fails.
func (d digest) Write(p []byte) (int, error) {
	_, _ = d.ieee.Write(p)
	return d.castagnoli.Write(p)
}

func (d digest) sum() []byte { return d.castagnoli.Sum(d.ieee.Sum(nil)) }

// folderSum returns a checksum over the names and the contents of a folder's files, and the
// content of its entry.
func folderSum(folder string) (sum string, entry []byte, err error) {
	all := sha256.New()
	block := make([]byte, sumBlock)
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == filepath.Join(folder, sumName) {
			return err
		}
		if !d.Type().IsRegular() {
			return errors.New("the cache holds something that is not a file")
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		inner := newDigest()
		var to io.Writer = inner
		if path == filepath.Join(folder, entryName) {
			info, err := f.Stat()
			if err != nil {
				return err
			}
			if info.Size() > maxEntryBytes {
				return errDamaged
			}
			keep := bytes.NewBuffer(make([]byte, 0, info.Size()))
			defer func() { entry = keep.Bytes() }()
			to = io.MultiWriter(inner, keep)
		}
		// Without the methods of os.File, which would copy in blocks of their own size.
		if _, err := io.CopyBuffer(to, struct{ io.Reader }{f}, block); err != nil {
			return err
		}
		fmt.Fprintf(all, "%x %q\n", inner.sum(), path[len(folder):])
		return nil
	})
	return hex.EncodeToString(all.Sum(nil)), entry, err
}
