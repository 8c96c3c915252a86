package intake_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"triptych/gateway/internal/fake"
	"triptych/gateway/internal/fronttest"
	"triptych/gateway/jobs/jobstest"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/stream"
	"triptych/shared/testkit"
)

const (
	zipType  = "application/zip"
	tarType  = "application/x-tar"
	gzipType = "application/gzip"
	jsonType = "application/json"
)

// small are the limits of these tests.
func small(c *jobstest.Config) {
	c.Jobs.Intake.MaxItems = 20
	c.Jobs.Intake.MaxBytes = 8 << 20
	c.Jobs.Intake.MaxImage = 5 << 20
	c.Jobs.Intake.MaxRatio = 10
	c.Jobs.Webhook.Secrets = []string{"a secret that is only for these tests"}
	loading := fake.Echo("loading", inference.DataType_TYPE_STRING, 1)
	loading.Fault = failure.New(failure.Unavailable, "model %q is loading", "loading")
	c.Models.Models = append(c.Models.Models, loading)
}

// noise is bytes that do not pack.
func noise(size int) string {
	data := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data)
	return string(data)
}

// sparse is a TAR of a file that has nothing but a hole, in the form that PAX has for
// it: what the map says stands before the file's bytes.
func sparse() []byte {
	holes := make([]byte, 512)
	copy(holes, "1\n4000000\n0\n")
	return extended(holes, "GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.name=a.jpg", "GNU.sparse.realsize=4000000")
}

// extended is a TAR of a file with records of PAX before it, short ones.
func extended(file []byte, records ...string) []byte {
	var pax string
	for _, r := range records {
		pax += strconv.Itoa(len(r)+4) + " " + r + "\n"
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, data := range [][]byte{[]byte(pax), file} {
		_ = w.WriteHeader(&tar.Header{Name: "a.jpg", Typeflag: tar.TypeReg, Size: int64(len(data)), Format: tar.FormatUSTAR})
		_, _ = w.Write(data)
	}
	_ = w.Close()
	return typed(b.Bytes(), tar.TypeXHeader)
}

// sparseGNU is a TAR of a file with holes in the form that is older than PAX.
func sparseGNU() []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	_ = w.WriteHeader(&tar.Header{Name: "a.jpg", Typeflag: tar.TypeReg, Format: tar.FormatGNU})
	_ = w.Close()
	return typed(b.Bytes(), tar.TypeGNUSparse)
}

// named is the form of one file, whose name is written as it stands.
func named(parameter string) []byte {
	return []byte("--b\r\nContent-Disposition: form-data; name=a; " + parameter + "\r\n\r\nxyz\r\n--b--\r\n")
}

// typed is a TAR whose first entry is of another kind: the writer makes no such ones.
func typed(archive []byte, kind byte) []byte {
	archive[156] = kind
	sum := 0
	copy(archive[148:156], "        ")
	for _, c := range archive[:512] {
		sum += int(c)
	}
	copy(archive[148:156], fmt.Sprintf("%06o\x00 ", sum))
	return archive
}

// link is a TAR archive with a symbolic link.
func link() []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	_ = w.WriteHeader(&tar.Header{Name: "a.jpg", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink})
	_ = w.Close()
	return b.Bytes()
}

// locked is a ZIP archive with a file that says that it is encrypted.
func locked() []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, _ := w.CreateRaw(&zip.FileHeader{Name: "a.jpg", Flags: 1, Method: zip.Store, CompressedSize64: 3, UncompressedSize64: 3})
	_, _ = io.WriteString(f, "abc")
	_ = w.Close()
	return b.Bytes()
}

// lying is a ZIP archive with a file that says that it has 3 bytes and has many.
func lying() []byte {
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	f, _ := w.Create("a.jpg")
	_, _ = io.WriteString(f, strings.Repeat("x", 7<<20))
	_ = w.Close()
	r, _ := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	raw, _ := r.File[0].OpenRaw()
	var b bytes.Buffer
	w = zip.NewWriter(&b)
	out, _ := w.CreateRaw(&zip.FileHeader{Name: "a.jpg", Method: zip.Deflate, CRC32: r.File[0].CRC32, CompressedSize64: r.File[0].CompressedSize64, UncompressedSize64: 3})
	_, _ = io.Copy(out, raw)
	_ = w.Close()
	return b.Bytes()
}

func damaged(body []byte) []byte {
	body[len(body)/3] ^= 0xff
	return body
}

// refusals are jobs that must leave nothing behind.
var refusals = map[string]struct {
	query, media string
	body         []byte
	status       int
	says         string
}{
	"an unknown model":                    {"?model=absent", "", nil, 404, "absent"},
	"a model that is loading":             {"?model=loading", "", nil, 503, "is loading"},
	"a model without images":              {"?model=floats", "", nil, 400, "does not take one image"},
	"an unknown version":                  {"?version=7", "", nil, 404, "version"},
	"a bad priority":                      {"?priority=urgent", "", nil, 400, "priority is \"urgent\""},
	"priority 4":                          {"?priority=4", "", nil, 400, "priority"},
	"a bad deadline":                      {"?deadline=soon", "", nil, 400, "deadline is \"soon\""},
	"a deadline that has passed":          {"?deadline=2001-01-01T00:00:00Z", "", nil, 400, "has passed"},
	"a deadline of no time":               {"?deadline=0s", "", nil, 400, "has passed"},
	"a deadline too far":                  {"?deadline=9000h", "", nil, 400, "within"},
	"a callback without a host":           {"?callback_url=http:///x", "", nil, 400, "callback_url"},
	"a callback by file":                  {"?callback_url=file:///etc/passwd", "", nil, 400, "callback_url"},
	"a callback with a password":          {"?callback_url=http://a:b@example.org/", "", nil, 400, "callback_url"},
	"a bad top_k":                         {"?top_k=0", "", nil, 400, "top_k"},
	"an unknown setting":                  {"?colour=red", "", nil, 400, "colour"},
	"a setting twice":                     {"?priority=1&priority=2", "", nil, 400, "twice"},
	"no items":                            {"", tarType, jobstest.TAR(), 400, "no items"},
	"an empty body":                       {"", tarType, []byte{}, 400, "no items"},
	"an empty ZIP":                        {"", zipType, jobstest.ZIP(), 400, "no items"},
	"another media type":                  {"", "image/jpeg", []byte("x"), 415, "multipart/form-data"},
	"no media type":                       {"", "-", []byte("x"), 415, "multipart/form-data"},
	"a form without a boundary":           {"", "multipart/form-data", []byte("x"), 400, "boundary"},
	"a form that is cut":                  {"", "multipart/form-data; boundary=b", []byte("--b\r\nContent-Disposition: form-data; name=a; filename=a\r\n\r\nxyz"), 400, "not well formed"},
	"a path that leads out":               {"", tarType, jobstest.TAR("a.jpg", "x", "../b.jpg", "x"), 400, "leads out"},
	"a path that leads out, ZIP":          {"", zipType, jobstest.ZIP("a.jpg", "x", "c/../../b.jpg", "x"), 400, "leads out"},
	"an absolute path":                    {"", zipType, jobstest.ZIP("/etc/passwd", "x"), 400, "absolute"},
	"a drive":                             {"", zipType, jobstest.ZIP("C:b.jpg", "x"), 400, "absolute"},
	"a backslash":                         {"", zipType, jobstest.ZIP(`a\b.jpg`, "x"), 400, "character"},
	"a control character":                 {"", tarType, jobstest.TAR("a\nb.jpg", "x"), 400, "character"},
	"a name that is not UTF-8":            {"", zipType, jobstest.ZIP("a\xff.jpg", "x"), 400, "UTF-8"},
	"a name that is long":                 {"", zipType, jobstest.ZIP(strings.Repeat("n", 1025), "x"), 400, "1025 bytes"},
	"a link":                              {"", tarType, link(), 400, "link"},
	"a file with holes":                   {"", tarType, sparse(), 400, "sparse"},
	"a file with holes, GNU":              {"", tarType, sparseGNU(), 400, "sparse"},
	"an encrypted ZIP":                    {"", zipType, locked(), 400, "encrypted"},
	"a ZIP that is none":                  {"", zipType, []byte("no archive at all"), 400, "ZIP archive is not well formed"},
	"a ZIP that is cut":                   {"", zipType, jobstest.ZIP("a.jpg", noise(1000))[:900], 400, "ZIP archive is not well formed"},
	"a ZIP that is damaged":               {"", zipType, damaged(jobstest.ZIP("a.jpg", noise(1000))), 400, "ZIP archive is not well formed"},
	"a TAR that is none":                  {"", tarType, []byte(noise(2000)), 400, "TAR archive is not well formed"},
	"a TAR that is cut":                   {"", tarType, jobstest.TAR("a.jpg", noise(2000))[:1500], 400, "TAR archive is not well formed"},
	"a gzip that is none":                 {"", gzipType, []byte("no archive at all"), 400, "gzip archive is not well formed"},
	"a gzip that is cut":                  {"", gzipType, jobstest.Gzip(jobstest.TAR("a.jpg", noise(4000)))[:2000], 400, "not well formed"},
	"a bomb by ratio, ZIP":                {"", zipType, jobstest.ZIP("a.jpg", strings.Repeat("x", 4<<20)), 413, "10 times"},
	"a bomb by ratio, many in one":        {"", zipType, jobstest.ZIP("a.jpg", strings.Repeat("x", 1<<20), "b.jpg", strings.Repeat("x", 1<<20)), 413, "10 times"},
	"a bomb by ratio, gzip":               {"", gzipType, jobstest.Gzip(jobstest.TAR("a.jpg", strings.Repeat("x", 4<<20))), 413, "10 times"},
	"a bomb that lies":                    {"", zipType, lying(), 400, "ZIP archive is not well formed"},
	"a bomb by its size":                  {"", zipType, jobstest.ZIP("a.jpg", strings.Repeat("x", 9<<20)), 413, "unpacks to more than"},
	"too many bytes in a TAR":             {"", tarType, jobstest.TAR("a.jpg", noise(4<<20), "b.jpg", noise(5<<20)), 413, "8388608 bytes"},
	"too many files":                      {"", tarType, jobstest.TAR(many(21)...), 413, "more than 20 items"},
	"too many files, ZIP":                 {"", zipType, jobstest.ZIP(many(21)...), 413, "21 files"},
	"JSON that is none":                   {"", jsonType, []byte("{"), 400, "not valid JSON"},
	"JSON that is a list":                 {"", jsonType, []byte("[]"), 400, "must be an object"},
	"JSON without items":                  {"", jsonType, []byte(`{"model":"classify"}`), 400, `"items" is missing`},
	"JSON with no items":                  {"", jsonType, []byte(`{"items":[]}`), 400, "no items"},
	"JSON with an unknown setting":        {"", jsonType, []byte(`{"colour":"red","items":[]}`), 400, "colour"},
	"JSON with an unknown member":         {"", jsonType, []byte(`{"items":[{"key":"a","url":"x"}]}`), 400, "url"},
	"JSON with a wrong type":              {"", jsonType, []byte(`{"items":[{"key":7}]}`), 400, `"key" of item 0 must be a text, not a number`},
	"JSON with an item that is a number":  {"", jsonType, []byte(`{"items":[{"key":"there"},1]}`), 400, "item 1 must be an object, not a number"},
	"JSON with an item that is a list":    {"", jsonType, []byte(`{"items":[[]]}`), 400, "item 0 must be an object, not a list"},
	"JSON with an item that is true":      {"", jsonType, []byte(`{"items":[true]}`), 400, "item 0 must be an object, not true or false"},
	"JSON with an item that is a text":    {"", jsonType, []byte(`{"items":["there"]}`), 400, "item 0 must be an object, not a text"},
	"JSON with a list of parameters":      {"", jsonType, []byte(`{"parameters":[],"items":[{"key":"there"}]}`), 400, `"parameters" must be an object, not a list`},
	"JSON with NUL in a name":             {"", jsonType, []byte(`{"items":[{"key":"there","name":"a\u0000b"}]}`), 400, "NUL"},
	"NUL in a name, ZIP":                  {"", zipType, jobstest.ZIP("a\x00b.jpg", "x"), 400, "character"},
	"NUL in a name, TAR":                  {"", tarType, extended([]byte("x"), "path=a\x00b.jpg"), 400, "TAR archive is not well formed"},
	"NUL in a name, form":                 {"", "multipart/form-data; boundary=b", named("filename=\"a\x00b.jpg\""), 400, ""},
	"NUL in a name, form, in UTF-8":       {"", "multipart/form-data; boundary=b", named("filename*=UTF-8''a%00b.jpg"), 400, "NUL"},
	"JSON with a setting that is no text": {"", jsonType, []byte(`{"model":["a"],"items":[]}`), 400, "text or a number"},
	"JSON with a member twice":            {"", jsonType, []byte(`{"items":[{"key":"there"}],"items":[]}`), 400, "twice"},
	"JSON and more":                       {"", jsonType, []byte(`{"items":[{"key":"there"}]} x`), 400, "after the JSON"},
	"JSON with an absent object":          {"", jsonType, []byte(`{"items":[{"key":"there"},{"key":"not there"}]}`), 404, `"not there"`},
	"JSON with an absent model":           {"", jsonType, []byte(`{"items":[{"key":"there"}],"model":"absent"}`), 404, "absent"},
	"JSON with parameters that are none":  {"", jsonType, []byte(`{"parameters":{"a":[]},"items":[{"key":"there"}]}`), 400, "parameter"},
}

func many(n int) []string {
	var files []string
	for i := range n {
		files = append(files, strings.Repeat("n", i+1)+".jpg", "x")
	}
	return files
}

// Whatever is refused leaves nothing in the store.
func TestRefusals(t *testing.T) {
	s := jobstest.Start(t, small)
	if _, err := s.Store.Connection().PutBlob(t.Context(), stream.Uploads, "there", []byte("an image")); err != nil {
		t.Fatal(err)
	}
	for name, tt := range refusals {
		t.Run(name, func(t *testing.T) {
			body, media := tt.body, tt.media
			if body == nil {
				body, media = jobstest.Form("cat", noise(300<<10))
			}
			headers := []string{"Content-Type", media}
			if media == "-" {
				headers = nil
			}
			for _, key := range []string{"", "a key of " + name} {
				if key != "" {
					headers = append(headers, "Idempotency-Key", key)
				}
				a := s.Post("/v1/jobs"+tt.query, body, headers...)
				if a.Status != tt.status || !strings.Contains(a.Failure().Error, tt.says) {
					t.Errorf("%d %s, want %d and %q", a.Status, a.Body, tt.status, tt.says)
				}
				if n := s.Stored(); n != 0 {
					t.Errorf("%d messages are left", n)
				}
			}
		})
	}
}

// A form whose settings come last is refused as well, and what came before is deleted.
func TestLateSettings(t *testing.T) {
	s := jobstest.Start(t)
	body, media := jobstest.Form("cat", noise(300<<10))
	boundary := strings.TrimPrefix(media, "multipart/form-data; boundary=")
	late := func(name, value string) []byte {
		closing := "--" + boundary + "--\r\n"
		return []byte(strings.TrimSuffix(string(body), closing) + "--" + boundary + "\r\nContent-Disposition: form-data; name=" + name + "\r\n\r\n" + value + "\r\n" + closing)
	}
	for setting, status := range map[string]int{"model=absent": 404, "priority=9": 400, "colour=red": 400} {
		name, value, _ := strings.Cut(setting, "=")
		if a := s.Send(late(name, value), media); a.Status != status {
			t.Errorf("%s: %d %s", setting, a.Status, a.Body)
		}
		if n := s.Stored(); n != 0 {
			t.Errorf("%s: %d messages are left", setting, n)
		}
	}
	if doc := s.Job(s.Send(late("priority", "low"), media), http.StatusAccepted); doc.Priority != 3 {
		t.Errorf("%+v", doc)
	}
}

// What comes too slowly is a 408, and nothing of it stays.
func TestSlowUpload(t *testing.T) {
	s := jobstest.Start(t, func(c *jobstest.Config) {
		c.Jobs.Intake.Timeout = 300 * time.Millisecond
		c.Front = func(f *fronttest.Config) { f.BodyTimeout, f.RequestTimeout = time.Hour, time.Nanosecond }
	})
	body, media := jobstest.Form(noise(300<<10), "cat")
	r, w := io.Pipe()
	go func() { _, _ = w.Write(body[:len(body)-100]) }()
	a := s.Do(http.MethodPost, "/v1/jobs", r, "Content-Type", media)
	_ = w.Close()
	if a.Status != http.StatusRequestTimeout {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	testkit.Eventually(t, 10*time.Second, "nothing to be left", func() bool { return s.Stored() == 0 })
}

// A caller who goes away in the midst leaves nothing.
func TestGone(t *testing.T) {
	s := jobstest.Start(t)
	body, media := jobstest.Form(noise(900<<10), noise(300<<10), "cat")
	r, w := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/jobs", r)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", media)
	go func() {
		_, _ = w.Write(body[:len(body)-50])
		testkit.Eventually(t, 10*time.Second, "some of it to be stored", func() bool { return s.Stored() > 0 })
		_ = w.CloseWithError(io.ErrClosedPipe)
	}()
	if resp, err := s.Client.Do(req); err == nil {
		_ = resp.Body.Close()
		t.Errorf("answered with %d", resp.StatusCode)
	}
	testkit.Eventually(t, 10*time.Second, "nothing to be left", func() bool { return s.Stored() == 0 })
}

// A bad item in a good job is an item, and the job is taken.
func TestBadItems(t *testing.T) {
	s := jobstest.Start(t, small)
	for media, body := range map[string][]byte{
		tarType:  jobstest.TAR("good.jpg", "x", "empty.jpg", "", "large.jpg", noise(5<<20+1), "after.jpg", "y"),
		zipType:  jobstest.ZIP("good.jpg", "x", "empty.jpg", "", "large.jpg", noise(5<<20+1), "after.jpg", "y"),
		gzipType: jobstest.Gzip(jobstest.TAR("good.jpg", "x", "empty.jpg", "", "large.jpg", noise(5<<20+1), "after.jpg", "y")),
	} {
		got := items(t, s, s.Job(s.Send(body, media), http.StatusAccepted).ID)
		kinds := []string{"", "BROKEN_IMAGE", "TOO_LARGE", ""}
		for i, item := range got {
			if item.GetError().GetKind() != kinds[i] {
				t.Errorf("%s: item %d is %v", media, i, item)
			}
		}
		if string(got[3].GetImage()) != "y" || got[3].GetName() != "after.jpg" {
			t.Errorf("%s: %v", media, got[3])
		}
	}
}

// Sizes around what fits into a page, and around what NATS takes as one message, all
// come through whole. (NAT-02)
func TestSizes(t *testing.T) {
	s := jobstest.Start(t)
	for _, size := range []int{1, 256<<10 - 2, 256<<10 - 1, 256 << 10, 256<<10 + 1, 1_000_000, 1 << 20, 1<<20 + 1, 2 << 20, 2<<20 + 1, 8_000_000} {
		image := noise(size)
		got := items(t, s, s.Create(image))[0]
		data := got.GetImage()
		if blob := got.GetBlob(); blob != nil {
			var err error
			if data, err = s.Store.Connection().GetBlob(t.Context(), blob, 0); err != nil {
				t.Errorf("%d bytes: %v", size, err)
			}
		}
		if inline := size < 256<<10; string(data) != image || inline != (got.GetBlob() == nil) {
			t.Errorf("%d bytes: %d are stored, inline %t", size, len(data), got.GetBlob() == nil)
		}
	}
}

// Objects that users have put into the store are named, and not copied.
func TestKeys(t *testing.T) {
	s := jobstest.Start(t, small)
	conn := s.Store.Connection()
	large := noise(5<<20 + 1)
	for key, data := range map[string]string{"a/cat.jpg": "cat", "empty": "", "large": large} {
		if _, err := conn.PutBlob(t.Context(), stream.Uploads, key, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	a := s.Send([]byte(`{"priority":3,"name":"keys","items":[{"key":"a/cat.jpg","name":"puss"},{"key":"a/cat.jpg"},{"key":"empty"},{"key":"large"}],"top_k":2,"parameters":{"x":1.5,"y":"z","n":7,"b":true,"none":null}}`), jsonType)
	doc := s.Job(a, http.StatusAccepted)
	got := items(t, s, doc.ID)
	if data, err := conn.GetBlob(t.Context(), got[0].GetBlob(), 0); err != nil || string(data) != "cat" || got[0].GetName() != "puss" || got[1].GetName() != "a/cat.jpg" {
		t.Errorf("%q %v, %v", data, err, got[:2])
	}
	if got[2].GetError().GetKind() != "BROKEN_IMAGE" || got[3].GetError().GetKind() != "TOO_LARGE" {
		t.Errorf("%v", got[2:])
	}
	job, err := s.Store.Job(t.Context(), doc.ID)
	if p := job.GetParameters(); err != nil || p["x"].GetDoubleParam() != 1.5 || p["y"].GetStringParam() != "z" || p["n"].GetInt64Param() != 7 || !p["b"].GetBoolParam() || p["top_k"].GetInt64Param() != 2 || len(p) != 5 {
		t.Errorf("%v %v", p, err)
	}
	if doc.Priority != 3 || doc.Name != "keys" {
		t.Errorf("%+v", doc)
	}
}
