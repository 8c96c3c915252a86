package cli_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestModelsLoadAndUnload(t *testing.T) {
	config, weights := file(t, "config.json", `{"backend":"x"}`), file(t, "model.onnx", "weights")
	for name, tt := range map[string]struct {
		args       []string
		status     int
		path, sent string
		out, errs  string
	}{
		"load":           {args: []string{"load", "m"}, path: "/v2/repository/models/m/load", sent: `{"parameters":{}}`, out: "m is loaded\n"},
		"load in JSON":   {args: []string{"load", "m", "--output", "json"}, path: "/v2/repository/models/m/load", sent: `{"parameters":{}}`, out: `{"model":"m","state":"loaded"}` + "\n"},
		"load with more": {args: []string{"load", "m", "--config", config, "--file", "1/model.onnx=" + weights}, path: "/v2/repository/models/m/load", sent: `{"parameters":{"config":"{\"backend\":\"x\"}","file:1/model.onnx":"d2VpZ2h0cw=="}}`, out: "m is loaded\n"},
		"unload":         {args: []string{"unload", "m"}, path: "/v2/repository/models/m/unload", sent: `{"parameters":{}}`, out: "m is unloaded\n"},
		"with steps":     {args: []string{"unload", "m", "--dependents"}, path: "/v2/repository/models/m/unload", sent: `{"parameters":{"unload_dependents":true}}`, out: "m is unloaded\n"},
		"refused":        {args: []string{"load", "bad"}, status: 1, path: "/v2/repository/models/bad/load", sent: `{"parameters":{}}`, errs: "triptych: model.onnx is truncated (400 Bad Request)\n"},
		"file alone":     {args: []string{"load", "m", "--file", "1/model.onnx=" + weights}, status: 1, errs: "triptych: --file goes only with --config\n"},
		"no such file":   {args: []string{"load", "m", "--config", "absent"}, status: 1, errs: "triptych: --config: \"absent\" can't be read\n"},
		"half a file":    {args: []string{"load", "m", "--config", config, "--file", "1/model.onnx"}, status: 1, errs: "triptych: --file \"1/model.onnx\" is not VERSION/PATH=FILE\n"},
		"no name":        {args: []string{"load"}, status: 2, errs: "triptych: accepts 1 arg(s), received 0\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var path, sent string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				path, sent = r.URL.Path, string(body)
				if path == "/v2/repository/models/bad/load" {
					w.WriteHeader(http.StatusBadRequest)
					_, _ = io.WriteString(w, `{"error":"model.onnx is truncated"}`)
					return
				}
				_, _ = io.WriteString(w, "{}")
			}))
			defer server.Close()
			status, out, errs := run(t, nil, append([]string{"models"}, append(tt.args, "--server", server.URL)...)...)
			if status != tt.status || out != tt.out || errs != tt.errs || path != tt.path || sent != tt.sent {
				t.Errorf("status %d, %q, %q; sent %s to %s", status, out, errs, sent, path)
			}
		})
	}
}
