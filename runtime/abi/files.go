package abi

import (
	"errors"
	"io"
	"io/fs"

	"github.com/tetratelabs/wazero"
	wasi "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"github.com/tetratelabs/wazero/sys"

	"github.com/bulkhead-host/bulkhead/runtime/vfs"
)

// mountFiles adds mounts to what WASI shows.
func (s *State) mountFiles(config wazero.ModuleConfig, mounts []vfs.Mount) wazero.ModuleConfig {
	if len(mounts) == 0 {
		return config
	}
	tree := wazero.NewFSConfig()
	for i, m := range mounts {
		tree = tree.(sysfs.FSConfig).WithSysFSMount(mounted{state: s, fs: m.FS, device: uint64(i + 1)}, m.Path)
	}
	return config.WithFSConfig(tree)
}

// mounted makes wazero's file system of a vfs.FS. There are no links and no permissions.
type mounted struct {
	wasi.UnimplementedFS
	state  *State
	fs     vfs.FS
	device uint64
}

// errno is the number that a guest gets for an error. Where wazero has none it is EIO, and the
// state keeps the number that exact puts in its place.
func (m mounted) errno(err error) wasi.Errno {
	switch {
	case err == nil, err == io.EOF:
		return 0
	case errors.Is(err, fs.ErrNotExist):
		return wasi.ENOENT
	case errors.Is(err, fs.ErrExist):
		return wasi.EEXIST
	case errors.Is(err, vfs.ErrReadOnly):
		return wasi.EROFS
	case errors.Is(err, vfs.ErrDir):
		return wasi.EISDIR
	case errors.Is(err, vfs.ErrNotDir):
		return wasi.ENOTDIR
	case errors.Is(err, vfs.ErrNotEmpty):
		return wasi.ENOTEMPTY
	case errors.Is(err, vfs.ErrNameTooLong):
		return wasi.ENAMETOOLONG
	case errors.Is(err, fs.ErrInvalid):
		return wasi.EINVAL
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrClosed):
		return wasi.EBADF
	case errors.Is(err, vfs.ErrQuota):
		m.state.log.write("warn", []byte("The plugin's files take all the room that they may; a file was not written."))
		m.state.errno = errnoDquot
	case errors.Is(err, vfs.ErrFull):
		m.state.log.write("warn", []byte("There is no room left where the plugin's files are kept; a file was not "+
			"written."))
		m.state.errno = errnoNospc
	case errors.Is(err, vfs.ErrTooManyOpen):
		m.state.errno = errnoMfile
	}
	return wasi.EIO
}

// name makes a name that vfs takes of a path, and says whether only a directory will do.
func (m mounted) name(path string) (name string, dir bool) {
	for len(path) > 0 && path[0] == '/' {
		path = path[1:]
	}
	for len(path) > 0 && path[len(path)-1] == '/' {
		path, dir = path[:len(path)-1], true
	}
	if path == "" {
		return ".", dir
	}
	return path, dir
}

// OpenFile implements wazero's FS.
func (m mounted) OpenFile(path string, flag wasi.Oflag, _ fs.FileMode) (wasi.File, wasi.Errno) {
	m.state.checkStopped()
	name, dir := m.name(path)
	how := 0
	switch flag & (wasi.O_RDWR | wasi.O_WRONLY) {
	case wasi.O_RDWR:
		how = vfs.Read | vfs.Write
	case wasi.O_WRONLY:
		how = vfs.Write
	default:
		how = vfs.Read
	}
	for bit, want := range map[wasi.Oflag]int{wasi.O_CREAT: vfs.Create, wasi.O_EXCL: vfs.Exclusive,
		wasi.O_TRUNC: vfs.Truncate} {
		if flag&bit != 0 {
			how |= want
		}
	}
	f, err := m.fs.Open(name, how)
	if err != nil {
		return nil, m.errno(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Dir && (dir || flag&wasi.O_DIRECTORY != 0) {
		err = vfs.ErrNotDir
	}
	if err != nil {
		return nil, m.errno(errors.Join(err, f.Close()))
	}
	return &openFile{mounted: m, file: f, dir: info.Dir, inode: info.Inode, append: flag&wasi.O_APPEND != 0}, 0
}

// Stat implements wazero's FS.
func (m mounted) Stat(path string) (sys.Stat_t, wasi.Errno) {
	m.state.checkStopped()
	name, dir := m.name(path)
	info, err := m.fs.Stat(name)
	if err == nil && dir && !info.Dir {
		err = vfs.ErrNotDir
	}
	if err != nil {
		return sys.Stat_t{}, m.errno(err)
	}
	return m.stat(info), 0
}

// Lstat implements wazero's FS.
func (m mounted) Lstat(path string) (sys.Stat_t, wasi.Errno) { return m.Stat(path) }

func (m mounted) stat(info vfs.Info) sys.Stat_t {
	mode := fs.FileMode(0o444)
	if info.Writable {
		mode |= 0o200
	}
	if info.Dir {
		mode |= fs.ModeDir | 0o111
	}
	at := info.Modified.UnixNano()
	return sys.Stat_t{Dev: m.device, Ino: sys.Inode(info.Inode), Mode: mode, Nlink: 1, Size: info.Size, Atim: at,
		Mtim: at, Ctim: at}
}

// Mkdir implements wazero's FS.
func (m mounted) Mkdir(path string, _ fs.FileMode) wasi.Errno {
	m.state.checkStopped()
	name, _ := m.name(path)
	return m.errno(m.fs.Mkdir(name))
}

// Rename implements wazero's FS.
func (m mounted) Rename(from, to string) wasi.Errno {
	m.state.checkStopped()
	source, _ := m.name(from)
	target, _ := m.name(to)
	return m.errno(m.fs.Rename(source, target))
}

// Rmdir implements wazero's FS.
func (m mounted) Rmdir(path string) wasi.Errno {
	m.state.checkStopped()
	name, _ := m.name(path)
	return m.errno(m.fs.Remove(name, true))
}

// Unlink implements wazero's FS.
func (m mounted) Unlink(path string) wasi.Errno {
	m.state.checkStopped()
	name, dir := m.name(path)
	if dir {
		return wasi.ENOTDIR
	}
	return m.errno(m.fs.Remove(name, false))
}

// Readlink implements wazero's FS: nothing is a link.
func (m mounted) Readlink(string) (string, wasi.Errno) { return "", wasi.EINVAL }

// Utimens implements wazero's FS. Times are the host's own; setting them does nothing.
func (m mounted) Utimens(path string, _, _ int64) wasi.Errno {
	_, errno := m.Stat(path)
	return errno
}

// openFile is an open file or directory.
type openFile struct {
	mounted
	wasi.UnimplementedFile
	file   vfs.File
	dir    bool
	inode  uint64
	append bool
	// at is where the next Read or Write begins; listed counts directory entries that
	// were handed out.
	at     int64
	listed int
}

var _ wasi.File = (*openFile)(nil)

// Dev implements wazero's File.
func (f *openFile) Dev() (uint64, wasi.Errno) { return f.device, 0 }

// Ino implements wazero's File.
func (f *openFile) Ino() (sys.Inode, wasi.Errno) { return sys.Inode(f.inode), 0 }

// IsDir implements wazero's File.
func (f *openFile) IsDir() (bool, wasi.Errno) { return f.dir, 0 }

// IsAppend implements wazero's File.
func (f *openFile) IsAppend() bool { return f.append }

// SetAppend implements wazero's File.
func (f *openFile) SetAppend(enable bool) wasi.Errno {
	f.append = enable
	return 0
}

// Stat implements wazero's File.
func (f *openFile) Stat() (sys.Stat_t, wasi.Errno) {
	info, err := f.file.Stat()
	if err != nil {
		return sys.Stat_t{}, f.errno(err)
	}
	return f.stat(info), 0
}

// Read implements wazero's File.
func (f *openFile) Read(buf []byte) (int, wasi.Errno) {
	n, errno := f.Pread(buf, f.at)
	f.at += int64(n)
	return n, errno
}

// Pread implements wazero's File.
func (f *openFile) Pread(buf []byte, off int64) (int, wasi.Errno) {
	f.state.checkStopped()
	n, err := f.file.ReadAt(buf, off)
	return n, f.errno(err)
}

// Write implements wazero's File.
func (f *openFile) Write(buf []byte) (int, wasi.Errno) {
	if f.append {
		info, err := f.file.Stat()
		if err != nil {
			return 0, f.errno(err)
		}
		f.at = info.Size
	}
	n, errno := f.Pwrite(buf, f.at)
	f.at += int64(n)
	return n, errno
}

// Pwrite implements wazero's File.
func (f *openFile) Pwrite(buf []byte, off int64) (int, wasi.Errno) {
	f.state.checkStopped()
	n, err := f.file.WriteAt(buf, off)
	return n, f.errno(err)
}

// position is an int64 under another name: go vet wants every method Seek of an int64 to be
// io.Seeker's, and wazero's is not.
type position = int64

// Seek implements wazero's File.
func (f *openFile) Seek(offset position, whence int) (int64, wasi.Errno) {
	if f.dir {
		if offset != 0 || whence != io.SeekStart {
			return 0, wasi.EISDIR
		}
		f.listed = 0
		return 0, 0
	}
	base := int64(0)
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		base = f.at
	case io.SeekEnd:
		info, err := f.file.Stat()
		if err != nil {
			return 0, f.errno(err)
		}
		base = info.Size
	default:
		return 0, wasi.EINVAL
	}
	at := base + offset
	if at < 0 || offset > 0 && at < base {
		return 0, wasi.EINVAL
	}
	f.at = at
	return at, 0
}

// Readdir implements wazero's File.
func (f *openFile) Readdir(n int) ([]wasi.Dirent, wasi.Errno) {
	f.state.checkStopped()
	list, err := f.file.List()
	if err != nil {
		return nil, f.errno(err)
	}
	list = list[min(f.listed, len(list)):]
	if n > 0 {
		list = list[:min(n, len(list))]
	}
	f.listed += len(list)
	entries := make([]wasi.Dirent, len(list))
	for i, info := range list {
		entries[i] = wasi.Dirent{Ino: sys.Inode(info.Inode), Name: info.Name}
		if info.Dir {
			entries[i].Type = fs.ModeDir
		}
	}
	return entries, 0
}

// Truncate implements wazero's File.
func (f *openFile) Truncate(size int64) wasi.Errno {
	f.state.checkStopped()
	return f.errno(f.file.Truncate(size))
}

// Sync implements wazero's File.
func (f *openFile) Sync() wasi.Errno { return 0 }

// Datasync implements wazero's File.
func (f *openFile) Datasync() wasi.Errno { return 0 }

// Utimens implements wazero's File, as that of mounted.
func (f *openFile) Utimens(_, _ int64) wasi.Errno { return 0 }

// Close implements wazero's File.
func (f *openFile) Close() wasi.Errno { return f.errno(f.file.Close()) }
