package intake

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"strings"

	"triptych/shared/failure"
)

const tarKind = "TAR"

// readTAR takes the files of a TAR archive as it comes.
func readTAR(d *draft, body io.Reader) error {
	archive := tar.NewReader(body)
	for {
		header, err := archive.Next()
		if err == io.EOF { // a wrapped one is an archive that was cut
			_, err := io.Copy(io.Discard, archived{tarKind, body}) // what pads it
			return err
		}
		if err != nil {
			return archiveFailure(tarKind, err)
		}
		if err := checkName(header.Name); err != nil {
			return err
		}
		if sparse(header) {
			return failure.New(failure.Invalid, "%s in the archive is a sparse file, only whole ones are taken", failure.Quote(header.Name))
		}
		switch header.Typeflag {
		case tar.TypeDir, tar.TypeXGlobalHeader:
		case tar.TypeReg:
			if err := d.image(header.Name, archived{tarKind, archive}); err != nil {
				return err
			}
		default:
			return failure.New(failure.Invalid, "%s in the archive is a link or a device, only files are taken", failure.Quote(header.Name))
		}
	}
}

// sparse tells whether a file has holes that are not in the archive: a few bytes of it
// can stand for any number.
func sparse(header *tar.Header) bool {
	for key := range header.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return header.Typeflag == tar.TypeGNUSparse
}

// readGzip takes the files of a TAR archive that is packed with gzip.
func readGzip(d *draft, body io.Reader) error {
	packed := &packed{source: body}
	archive, err := gzip.NewReader(packed)
	if err != nil {
		return archiveFailure("gzip", err)
	}
	whole := archived{"gzip", archive}
	return readTAR(d, &unpacked{source: whole, packed: func() int64 { return packed.bytes }, ratio: d.in.cfg.MaxRatio})
}

// packed counts the bytes of an archive as they come.
type packed struct {
	source io.Reader
	bytes  int64
}

// Read implements io.Reader.
func (p *packed) Read(into []byte) (int, error) {
	n, err := p.source.Read(into)
	p.bytes += int64(n)
	return n, err
}
