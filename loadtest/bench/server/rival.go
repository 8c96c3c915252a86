package server

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"triptych/shared/config"
)

// Rival is a server that ours is compared with. Only its command knows what it is.
type Rival struct {
	// Command is one of the shell, which stays in the foreground; empty for no rival.
	Command string
	// Address is that of gRPC, Model the rival's name for what ours does.
	Address, Model string
}

// RivalOf takes the rival from the environment, for its command is long.
func RivalOf(getenv func(string) string) Rival {
	return Rival{Command: getenv("RIVAL"), Address: getenv("RIVAL_GRPC"), Model: getenv("RIVAL_MODEL")}
}

// RegisterFlags registers the flags of a rival that runs what is said, with marks in
// its command.
func (r *Rival) RegisterFlags(fs *pflag.FlagSet, what, marks string) {
	fs.StringVar(&r.Command, "rival", r.Command, "Command of the shell that runs a rival's "+what+" in the foreground, with "+marks+" ($RIVAL).")
	fs.StringVar(&r.Address, "rival-grpc", r.Address, "The rival's gRPC address ($RIVAL_GRPC).")
	fs.StringVar(&r.Model, "rival-model", r.Model, "The rival's name for the "+what+" ($RIVAL_MODEL).")
}

// Validate wants all or nothing.
func (r *Rival) Validate() error {
	if r.Given() && (r.Address == "" || r.Model == "") {
		return config.Wrong("rival", "needs --rival-grpc and --rival-model")
	}
	return nil
}

// Given tells whether there is one.
func (r *Rival) Given() bool { return r.Command != "" }

// Notes tell the reader of figures that there is none.
func (r *Rival) Notes() []string {
	if r.Given() {
		return nil
	}
	return []string{"No rival was given ($RIVAL), so only our own side was measured."}
}

// With runs the rival while f runs, with a value in the place of a mark in its command.
// What it says goes to log.
func (r *Rival) With(ctx context.Context, mark, value string, log io.Writer, f func(*Server) error) error {
	s, err := Start(ctx, strings.ReplaceAll(r.Command, mark, value), r.Address, log)
	if err != nil {
		return err
	}
	err = s.Ready(ctx, r.Model)
	if err == nil {
		err = f(s)
	}
	return errors.Join(err, s.Stop())
}
