package picture

import (
	"bytes"
	"encoding/binary"
)

// wholePNG walks the chunks to the last, IEND: four bytes of length, four of name,
// the data, four of checksum (PNG, third edition, section 5.3).
func wholePNG(data []byte) bool {
	const around = 12
	data = data[8:]
	for len(data) >= around {
		n := uint64(binary.BigEndian.Uint32(data))
		if n > uint64(len(data)-around) {
			return false
		}
		if string(data[4:8]) == "IEND" {
			return true
		}
		data = data[n+around:]
	}
	return false
}

// wholeJPEG walks the segments to the first scan and looks for the mark of the end
// behind it; a preview inside a segment has an end of its own, which does not count
// (ITU T.81, annex B).
func wholeJPEG(data []byte) bool {
	data = data[2:]
	for len(data) >= 4 && data[0] == 0xff {
		if data[1] == 0xff { // a fill byte
			data = data[1:]
			continue
		}
		n := int(binary.BigEndian.Uint16(data[2:]))
		if n < 2 || n+2 > len(data) {
			return false
		}
		scan := data[1] == 0xda
		if data = data[n+2:]; scan {
			return bytes.Contains(data, []byte{0xff, 0xd9})
		}
	}
	return false
}

// wholeGIF walks the blocks to the trailer (GIF89a, appendix A).
func wholeGIF(data []byte) bool {
	const screen, frame = 13, 10
	if len(data) < screen {
		return false
	}
	data = pastColours(data[screen:], data[10])
	for len(data) > 0 {
		switch data[0] {
		case 0x3b: // the trailer
			return true
		case 0x21: // an extension: its label, then its blocks
			data = pastBlocks(data[min(2, len(data)):])
		case 0x2c: // a frame: its colours, the size of its codes, then its blocks
			if len(data) < frame {
				return false
			}
			data = pastColours(data[frame:], data[9])
			data = pastBlocks(data[min(1, len(data)):])
		default:
			return false
		}
	}
	return false
}

// pastColours leaves out the table of colours that flags announce.
func pastColours(data []byte, flags byte) []byte {
	if flags&0x80 == 0 {
		return data
	}
	return data[min(3<<(flags&7+1), len(data)):]
}

// pastBlocks leaves out blocks of data up to the empty one that ends them.
func pastBlocks(data []byte) []byte {
	for len(data) > 0 && data[0] != 0 {
		data = data[min(int(data[0])+1, len(data)):]
	}
	return data[min(1, len(data)):]
}

// beginsWebP tells a RIFF file of the form WEBP (RFC 9649, section 2.4).
func beginsWebP(data []byte) bool {
	return len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP"
}

// wholeWebP compares the size that the file says to have.
func wholeWebP(data []byte) bool {
	return uint64(binary.LittleEndian.Uint32(data[4:]))+8 <= uint64(len(data))
}
