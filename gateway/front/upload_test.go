package front_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"triptych/gateway/internal/fronttest"
	"triptych/gateway/web"
)

// A route with uploads has bounds of its own, and takes nothing of the room for work.
func TestUpload(t *testing.T) {
	count := func(c *gin.Context) error {
		n, err := io.Copy(io.Discard, c.Request.Body)
		if err != nil {
			return err
		}
		return web.JSON(c, http.StatusOK, n)
	}
	routes := []web.Route{{Method: http.MethodPost, Path: "/upload", Upload: &web.Upload{MaxBytes: 5000, Timeout: time.Minute}, Handle: count}}
	s := fronttest.StartWith(t, server(), routes, func(c *fronttest.Config) {
		c.MaxBody, c.Room.MaxBytes, c.RequestTimeout, c.BodyTimeout = 1000, 1000, time.Nanosecond, time.Nanosecond
	})
	for size, status := range map[int]int{0: 200, 1001: 200, 5000: 200, 5001: 413} {
		for name, body := range map[string]io.Reader{"known": strings.NewReader(strings.Repeat("x", size)), "unknown": io.MultiReader(strings.NewReader(strings.Repeat("x", size)))} {
			if a := s.Do(http.MethodPost, "/upload", body); a.Status != status {
				t.Errorf("%d bytes of %s length: %d %s", size, name, a.Status, a.Body)
			}
		}
	}
}
