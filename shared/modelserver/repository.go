package modelserver

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"triptych/shared/failure"
	"triptych/shared/modelconfig"
)

// Repository is a set of folders with models in them, in Triton's layout.
// Safe for concurrent use: it keeps nothing.
type Repository struct {
	folders []string
}

// Entry is one model as the repository has it. Err says why its configuration
// can't be used; then Document is nil.
type Entry struct {
	Name      string
	Directory string
	Document  *modelconfig.Document
	Err       error

	forced  bool     // loaded anew though nothing has changed
	scratch *scratch // holds Directory, if the files came with a request
	files   tree     // what Directory looked like, if that is known already
}

// NewRepository names the folders; each must be one.
func NewRepository(folders ...string) (*Repository, error) {
	if len(folders) == 0 {
		return nil, failure.New(failure.Invalid, "no model repository is given (--model-repository)")
	}
	for _, f := range folders {
		info, err := os.Stat(f)
		if err != nil {
			return nil, failure.Wrap(err, failure.Invalid, "model repository %q can't be read", f)
		}
		if !info.IsDir() {
			return nil, failure.New(failure.Invalid, "model repository %q is not a folder", f)
		}
	}
	return &Repository{folders: folders}, nil
}

// Scan reads every model's configuration, sorted by name. Hidden entries and
// plain files are passed over. A name that two folders have is an error of that
// model.
func (r *Repository) Scan() ([]Entry, error) {
	found := map[string]string{}
	twice := map[string]bool{}
	for _, folder := range r.folders {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, failure.Wrap(err, failure.Unavailable, "model repository %q can't be read", folder)
		}
		for _, e := range entries {
			path := filepath.Join(folder, e.Name())
			if info, err := os.Stat(path); err != nil || !info.IsDir() || hidden(e.Name()) {
				continue
			}
			twice[e.Name()] = found[e.Name()] != ""
			found[e.Name()] = path
		}
	}
	models := make([]Entry, 0, len(found))
	for name, directory := range found {
		switch {
		case !utf8.ValidString(name):
			models = append(models, illegible(name, directory))
		case twice[name]:
			models = append(models, conflict(name, directory))
		default:
			models = append(models, read(name, directory))
		}
	}
	slices.SortFunc(models, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return models, nil
}

// Find reads one model's configuration; NotFound when no folder has it. Other
// models are not looked at.
func (r *Repository) Find(name string) (Entry, error) {
	var found []string
	var unread error
	for _, folder := range r.folders {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			unread = failure.Wrap(err, failure.Unavailable, "model repository %q can't be read", folder)
		}
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); err == nil && info.IsDir() && isName(name) {
			found = append(found, path)
		}
	}
	switch {
	case len(found) > 1:
		return conflict(name, found[1]), nil
	case len(found) == 1:
		return read(name, found[0]), nil
	case unread != nil:
		return Entry{}, unread
	}
	return Entry{}, missing(name).Err
}

func conflict(name, directory string) Entry {
	return Entry{Name: name, Directory: directory, Err: failure.New(failure.Conflict, "model %q is in more than one repository", name)}
}

// illegible is a model whose name no message could carry: with it, the index of
// all the others would be lost.
func illegible(name, directory string) Entry {
	return Entry{
		Name: strings.ToValidUTF8(name, "\uFFFD"), Directory: directory,
		Err: failure.New(failure.Invalid, "the name of the folder %q is not UTF-8", name),
	}
}

// missing is a model that was asked for by name and that no folder has.
func missing(name string) Entry {
	return Entry{Name: name, Err: failure.New(failure.NotFound, "model %s is not in the repository", failure.Quote(name))}
}

func read(name, directory string) Entry {
	document, err := modelconfig.Read(directory)
	if err != nil {
		return Entry{Name: name, Directory: directory, Err: err}
	}
	return Entry{Name: name, Directory: directory, Document: document}
}

// hidden names are what tools leave behind: .git, ..data, lost+found.
func hidden(name string) bool {
	return strings.HasPrefix(name, ".") || name == "lost+found"
}

// maxNameBytes is what file systems take of a name.
const maxNameBytes = 255

// isName tells whether a caller's text can be the name of a model's folder and
// nothing else.
func isName(name string) bool {
	return name != "" && len(name) <= maxNameBytes && utf8.ValidString(name) && !hidden(name) && !strings.ContainsAny(name, "/\\\x00")
}
