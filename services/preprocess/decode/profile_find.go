package decode

import (
	"bytes"
	"encoding/binary"
)

// profileIn is the color profile that a file holds, empty when it holds none. It
// is not ok when it holds one that can't be read.
func profileIn(format Format, file []byte) (profile []byte, ok bool) {
	switch format {
	case JPEG:
		return jpegProfile(file)
	case PNG:
		f, err := scanPNG(file)
		if err != nil || f.profile == nil {
			return nil, err == nil
		}
		return pngProfile(f.profile)
	case TIFF:
		return tiffProfile(file)
	case WebP:
		return scanWebP(file).profile, true
	}
	return nil, true
}

// usableProfile checks what is told by the first bytes of a profile and its table
// of tags: it is about RGB, and not made of calculations in floating point, which
// can be as long as one likes and which hardly any profile has.
func usableProfile(profile []byte) bool {
	const (
		table    = 128
		tagSize  = 12
		mostTags = 100
	)
	be := binary.BigEndian
	if len(profile) < table+4 || string(profile[16:20]) != "RGB " || string(profile[36:40]) != "acsp" {
		return false
	}
	n := be.Uint32(profile[table:])
	if n > mostTags || len(profile) < table+4+tagSize*int(n) {
		return false
	}
	for i := range int(n) {
		if bytes.HasPrefix(profile[table+4+tagSize*i:], []byte("D2B")) {
			return false
		}
	}
	return true
}

// pngProfile unpacks an iCCP chunk: a name, a zero, the method and the profile,
// whose first four bytes tell how long it is.
func pngProfile(chunk []byte) (profile []byte, ok bool) {
	name := bytes.IndexByte(chunk, 0)
	if name < 0 || len(chunk) < name+2 || chunk[name+1] != 0 {
		return nil, false
	}
	packed, err := openZlib(&packet{chunk[name+2:]}, new(unpackWork))
	if err != nil {
		return nil, false
	}
	defer packed.close()
	var size [4]byte
	if packed.fill(size[:]) != nil {
		return nil, false
	}
	n := binary.BigEndian.Uint32(size[:])
	if n < uint32(len(size)) || n > largestProfile {
		return nil, false
	}
	profile = append(make([]byte, 0, n), size[:]...)[:n]
	return profile, packed.fill(profile[len(size):]) == nil
}

// jpegProfile puts a profile together that lies in numbered segments.
func jpegProfile(data []byte) (profile []byte, ok bool) {
	const head = "ICC_PROFILE\x00"
	var parts [256][]byte
	count, found, size := 0, 0, 0
	for at := 2; ; {
		marker, segment, next, err := nextSegment(data, at)
		if err != nil || marker == markerSOS || marker == markerEOI {
			break
		}
		at = next
		if marker != markerAPP2 || !bytes.HasPrefix(segment, []byte(head)) || len(segment) < len(head)+2 {
			continue
		}
		number, of := int(segment[len(head)]), int(segment[len(head)+1])
		if number == 0 || number > of || count != 0 && of != count || parts[number] != nil {
			return nil, false
		}
		parts[number] = segment[len(head)+2:]
		count = of
		found++
		size += len(parts[number])
	}
	if found != count || size > largestProfile {
		return nil, false
	}
	return bytes.Join(parts[:], nil), true
}

// tiffProfile reads tag 34675 of the first page of a TIFF file.
func tiffProfile(data []byte) (profile []byte, ok bool) {
	const tagProfile = 34675
	dir, ok := openIFD(data)
	if !ok || !dir.has(tagProfile) {
		return nil, true
	}
	profile = dir.field(tagProfile).data
	return profile, len(profile) > 0 && len(profile) <= largestProfile
}
