package e2e_test

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// build makes the programs of the four services once for each test.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, pkg := range map[string]string{
		"gateway":     "triptych/gateway/cmd/gateway",
		"preprocess":  "triptych/services/preprocess/cmd/preprocess",
		"predictor":   "triptych/services/predictor/cmd/predictor",
		"postprocess": "triptych/services/postprocess/cmd/postprocess",
	} {
		out, err := exec.Command("go", "build", "-o", filepath.Join(dir, name), pkg).CombinedOutput()
		if err != nil {
			t.Fatalf("build %s: %v\n%s", name, err, out)
		}
	}
	return dir
}

// process is one service that can be killed and started again at the same ports.
type process struct {
	t     *testing.T
	path  string
	args  []string
	admin string

	cmd  *exec.Cmd
	logs *logs
}

// logs keeps what a process wrote, for when a test fails.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func newProcess(t *testing.T, bin, name, grpc string, args ...string) *process {
	t.Helper()
	admin := testkit.FreeAddress(t)
	p := &process{t: t, path: filepath.Join(bin, name), admin: admin, logs: &logs{}}
	p.args = append([]string{"--model-repository", testkit.Path(t, "models"), "--grpc-address", grpc, "--admin-address", admin}, args...)
	t.Cleanup(func() {
		p.terminate()
		if t.Failed() {
			t.Logf("%s wrote:\n%s", name, p.logs.b.String())
		}
	})
	return p
}

func (p *process) start() {
	p.t.Helper()
	p.cmd = exec.Command(p.path, p.args...)
	p.cmd.Stderr = p.logs
	p.cmd.Dir = testkit.Root(p.t)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
}

// kill ends the process as a crash does.
func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	_ = p.cmd.Wait() // the error says "killed"
	p.cmd = nil
}

// terminate ends the process as an operator does, which must go well.
func (p *process) terminate() {
	if p.cmd == nil {
		return
	}
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		p.t.Error(err)
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("%s ended with %v", filepath.Base(p.path), err)
	}
	p.cmd = nil
}

// alive tells whether the process still runs.
func (p *process) alive() bool {
	return p.cmd != nil && p.cmd.Process.Signal(syscall.Signal(0)) == nil
}

func (p *process) ready() bool {
	resp, err := http.Get("http://" + p.admin + "/readyz")
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
