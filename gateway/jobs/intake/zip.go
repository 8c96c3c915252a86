package intake

import (
	"archive/zip"
	"io"
	"os"
	"strings"

	"triptych/shared/failure"
)

const (
	zipKind = "ZIP"
	// zipDirectory bounds the list of files of a ZIP archive, which is read into
	// memory.
	zipDirectory = 16 << 20
	// encrypted is the flag of a file that needs a password.
	encrypted = 1
)

// readZIP takes the files of a ZIP archive. Its list of files comes last, so that the
// archive is spooled first.
func readZIP(d *draft, body io.Reader) error {
	spooled, err := d.in.newSpool()
	if err != nil {
		return err
	}
	defer spooled.close()
	if err := spooled.fill(body); err != nil {
		return err
	}
	archive, err := openZIP(spooled.file, spooled.size)
	if err != nil {
		return err
	}
	if err := d.checkZIP(archive); err != nil {
		return err
	}
	var before int64
	for _, f := range archive.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		content, err := f.Open()
		if err != nil {
			return archiveFailure(zipKind, err)
		}
		u := &unpacked{source: archived{zipKind, content}, packed: func() int64 { return spooled.size }, ratio: d.in.cfg.MaxRatio, bytes: before}
		err = d.image(f.Name, u)
		_ = content.Close()
		if err != nil {
			return err
		}
		before = u.bytes
	}
	return nil
}

// openZIP reads the list of files.
func openZIP(file io.ReaderAt, size int64) (*zip.Reader, error) {
	budget := &budgeted{source: file, left: zipDirectory}
	archive, err := zip.NewReader(budget, size)
	if budget.left < 0 {
		return nil, failure.New(failure.TooLarge, "the list of files in the ZIP archive has more than %d bytes: send that many files as a TAR archive", zipDirectory)
	}
	if err != nil {
		return nil, archiveFailure(zipKind, err)
	}
	budget.open = true
	return archive, nil
}

// checkZIP refuses an archive before anything of it is stored.
func (d *draft) checkZIP(archive *zip.Reader) error {
	if len(archive.File) > d.in.cfg.MaxItems {
		return failure.New(failure.TooLarge, "the ZIP archive has %d files, the most are %d", len(archive.File), d.in.cfg.MaxItems)
	}
	var total uint64
	for _, f := range archive.File {
		if err := checkName(f.Name); err != nil {
			return err
		}
		switch {
		case f.Flags&encrypted != 0:
			return failure.New(failure.Invalid, "the file %s in the ZIP archive is encrypted", failure.Quote(f.Name))
		case f.Method != zip.Store && f.Method != zip.Deflate:
			return failure.New(failure.Invalid, "the file %s in the ZIP archive is packed by method %d, only deflate is read", failure.Quote(f.Name), f.Method)
		case !f.Mode().IsRegular() && !f.Mode().IsDir():
			return failure.New(failure.Invalid, "%s in the ZIP archive is a link or a device, only files are taken", failure.Quote(f.Name))
		}
		if total += f.UncompressedSize64; total > uint64(d.in.cfg.MaxBytes) || f.UncompressedSize64 > uint64(d.in.cfg.MaxBytes) {
			return failure.New(failure.TooLarge, "the ZIP archive unpacks to more than %d bytes", d.in.cfg.MaxBytes)
		}
	}
	return nil
}

// budgeted lets only so many bytes be read before the list is open.
type budgeted struct {
	source io.ReaderAt
	left   int64
	open   bool
}

// ReadAt implements io.ReaderAt.
func (b *budgeted) ReadAt(p []byte, at int64) (int, error) {
	if !b.open {
		if b.left -= int64(len(p)); b.left < 0 {
			return 0, io.ErrUnexpectedEOF
		}
	}
	return b.source.ReadAt(p, at)
}

// spool is a file that has no name, so that it goes with the process.
type spool struct {
	in   *Intake
	file *os.File
	size int64
	held int64
}

func (in *Intake) newSpool() (*spool, error) {
	file, err := os.CreateTemp(in.temporary, "triptych-job-*.zip")
	if err != nil {
		return nil, failure.Wrap(err, failure.Unavailable, "there is no place for the archive")
	}
	if err := os.Remove(file.Name()); err != nil {
		_ = file.Close()
		return nil, failure.Wrap(err, failure.Internal, "the place for the archive can't be kept to itself")
	}
	return &spool{in: in, file: file}, nil
}

// spoolStep is how much room is taken at a time.
const spoolStep = 1 << 20

// fill copies a body into the file, while there is room.
func (s *spool) fill(body io.Reader) error {
	for {
		if !s.in.spool.TryAcquire(spoolStep) {
			return failure.New(failure.Busy, "there is no room for more ZIP archives at a time, which may have %d bytes together", s.in.cfg.SpoolBytes)
		}
		s.held += spoolStep
		n, err := io.CopyN(s.file, archived{zipKind, body}, spoolStep)
		s.size += n
		if err == io.EOF { //nolint:errorlint // CopyN's own
			return nil
		}
		if err != nil {
			return spoolFailure(err)
		}
	}
}

// spoolFailure tells a body that failed from a disk that did.
func spoolFailure(err error) error {
	if failure.KindOf(err) == failure.Internal {
		return failure.Wrap(err, failure.Busy, "the archive can't be kept: the disk for temporary files is full or broken")
	}
	return err
}

func (s *spool) close() {
	_ = s.file.Close()
	s.in.spool.Release(s.held)
}
