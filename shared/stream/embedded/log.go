package embedded

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/nats-io/nats-server/v2/server"
)

// log takes what the server says: notices are for debugging here, and what it calls
// fatal ends the start, not the process.
type log struct {
	logger *slog.Logger
	mu     sync.Mutex
	died   string
}

var _ server.Logger = (*log)(nil)

func (l *log) fatal() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.died
}

func (l *log) say(level slog.Level, format string, v ...any) {
	if l.logger != nil {
		l.logger.Log(context.Background(), level, "NATS server", "message", fmt.Sprintf(format, v...))
	}
}

// Noticef implements server.Logger.
func (l *log) Noticef(format string, v ...any) { l.say(slog.LevelDebug, format, v...) }

// Warnf implements server.Logger.
func (l *log) Warnf(format string, v ...any) { l.say(slog.LevelWarn, format, v...) }

// Errorf implements server.Logger.
func (l *log) Errorf(format string, v ...any) { l.say(slog.LevelError, format, v...) }

// Debugf implements server.Logger.
func (l *log) Debugf(string, ...any) {}

// Tracef implements server.Logger.
func (l *log) Tracef(string, ...any) {}

// Fatalf implements server.Logger.
func (l *log) Fatalf(format string, v ...any) {
	l.say(slog.LevelError, format, v...)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.died == "" {
		l.died = fmt.Sprintf(format, v...)
	}
}
