package pdk

// Memory is something that is remembered about the person.
type Memory struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	// CreatedAt and UpdatedAt are RFC 3339.
	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
}

// MemoryList returns what is remembered about the person, the last updated
// first. It needs the capability memory with read, and is Denied in a private
// conversation.
func MemoryList() ([]Memory, error) {
	answer, err := call[struct {
		Memories []Memory `json:"memories"`
	}](hostMemoryList, map[string]any{})
	return answer.Memories, err
}

type memoryApplied struct {
	Memory  Memory `json:"memory"`
	Changed bool   `json:"changed"`
}

// MemoryAdd remembers a text. Where exactly it is remembered already, added is
// false and the memory is that one. It needs the capability memory with write;
// it fails with Quota when there are too many.
func MemoryAdd(text string) (m Memory, added bool, err error) {
	answer, err := call[memoryApplied](hostMemoryApply, map[string]any{"operation": "add", "text": text})
	return answer.Memory, answer.Changed, err
}

// MemoryUpdate gives a memory another text. It needs the capability memory with
// write, and fails with NotFound.
func MemoryUpdate(id, text string) (Memory, error) {
	answer, err := call[memoryApplied](hostMemoryApply, map[string]any{"operation": "update", "id": id, "text": text})
	return answer.Memory, err
}

// MemoryDelete deletes a memory and returns what it was. It needs the capability
// memory with write, and fails with NotFound.
func MemoryDelete(id string) (Memory, error) {
	answer, err := call[memoryApplied](hostMemoryApply, map[string]any{"operation": "delete", "id": id})
	return answer.Memory, err
}

// AttachedFile is a text file that the person attached to a message.
type AttachedFile struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	MediaType string `json:"media_type"`
	// Bytes is the size of the source; Characters and Lines count its text.
	Bytes      int64  `json:"bytes"`
	Characters int    `json:"characters"`
	Lines      int    `json:"lines"`
	CreatedAt  string `json:"created_at"`
}

// FileList returns the files of this conversation, or all of the person's where
// the grant says so, in the order in which they came. It needs the capability
// files with read.
func FileList() ([]AttachedFile, error) {
	answer, err := call[struct {
		Files []AttachedFile `json:"files"`
	}](hostFileList, map[string]any{})
	return answer.Files, err
}

// FileRead returns limit characters of a file's text from offset, both in
// Unicode code points, and how many the whole has. A limit of 0 is the host's
// most. It needs the capability files with read.
func FileRead(id string, offset, limit int) (text string, total int, err error) {
	answer, err := call[struct {
		Text  string `json:"text"`
		Total int    `json:"total"`
	}](hostFileRead, map[string]any{"file_id": id, "offset": offset, "limit": limit})
	return answer.Text, answer.Total, err
}
