package cli

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"triptych/cli/client"
	"triptych/cli/upload"
	"triptych/shared/failure"
)

// submitFlags are the flags of triptych jobs submit.
type submitFlags struct {
	followFlags
	model, version, name, priority, deadline, callback string
	top                                                int
	key                                                string
	keys, wait                                         bool
	results                                            string
}

func newSubmit(streams Streams) *cobra.Command {
	var flags submitFlags
	cmd := &cobra.Command{
		Use:   "submit FILE|FOLDER|ARCHIVE|-...",
		Short: "Give the gateway many images, and return when all of them are safely stored",
		Long: `Submits a job: files, the image files of folders and of theirs, one archive (.tar,
.tar.gz, .zip) that is sent as it is, or an archive, also a tar, tar.gz or zip, on
standard input (-). With --keys the arguments are keys of the gateway's object store,
or - for keys on standard input, one a line.

The id of the job is written to standard output; the images are sent as they are read.
While the gateway is busy or away the command tries again, for --retry; it does so with
one idempotency key, so that there is one job whatever happens. Use the same
--idempotency-key in another run for the same.

With --wait the command stays until the job has ended, and its status is 0 only if all
items succeeded. With --results it also writes what becomes of them, as it comes.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.run(cmd.Context(), streams, args)
		},
	}
	flags.timeout = 10 * time.Minute // archives are unpacked before they are answered
	flags.followFlags.register(cmd)
	f := cmd.Flags()
	f.StringVar(&flags.model, "model", "classify", "The model, an ensemble of image bytes to something")
	f.StringVar(&flags.version, "model-version", "", "The model's version (default: the latest)")
	f.StringVar(&flags.name, "name", "", "A name for the job, for lists")
	f.StringVar(&flags.priority, "priority", "", "1 to 3, or high, normal, low")
	f.StringVar(&flags.deadline, "deadline", "", "When items that are not done are given up: a duration such as 90m, or a time as in RFC 3339")
	f.StringVar(&flags.callback, "callback-url", "", "URL that is told when the job has ended")
	f.IntVar(&flags.top, "top-k", 0, "How many labels (default: the model's)")
	f.StringVar(&flags.key, "idempotency-key", "", "All runs with one key and the same images are one job (default: a new key)")
	f.BoolVar(&flags.keys, "keys", false, "The arguments are keys of the object store")
	f.BoolVar(&flags.wait, "wait", false, "Stay until the job has ended")
	f.StringVar(&flags.results, "results", "", "File for the results, a JSON document a line; - is standard output; implies --wait")
	return cmd
}

func (f *submitFlags) run(ctx context.Context, streams Streams, args []string) error {
	if f.key == "" {
		f.key = rand.Text()
	}
	if f.results != "" {
		f.wait = true
	}
	follower, err := f.follower(streams)
	if err != nil {
		return err
	}
	defer follower.client.Close()
	body, err := f.body(streams, args)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // a file that was only read, or has no name
	job, err := f.send(ctx, follower, body)
	if err != nil {
		return err
	}
	if !f.wait {
		return f.accepted(streams, follower, job)
	}
	follower.note("job %s: %s for %s", job.ID, counted(job.Items, "item"), job.Model)
	return follower.stay(ctx, streams, job.ID, f.results)
}

// body is what the arguments stand for.
func (f *submitFlags) body(streams Streams, args []string) (*upload.Body, error) {
	input := false
	for _, arg := range args {
		switch {
		case arg == "-":
			input = true
		case !f.keys && upload.ArchiveType(arg) != "" && len(args) > 1:
			return nil, failure.New(failure.Invalid, "%s is an archive, which is a job alone", arg)
		}
	}
	switch {
	case input && len(args) > 1:
		return nil, failure.New(failure.Invalid, "- is standard input, which is a job alone")
	case input && f.keys:
		return upload.KeyInput(streams.In)
	case input:
		return upload.Input(streams.In)
	case f.keys:
		return upload.Keys(args)
	case upload.ArchiveType(args[0]) != "":
		return upload.Archive(args[0])
	default:
		return upload.Files(args, f.key)
	}
}

func (f *submitFlags) settings() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{
		"model": f.model, "version": f.version, "name": f.name, "priority": f.priority,
		"deadline": f.deadline, "callback_url": f.callback,
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if f.top != 0 {
		v.Set("top_k", strconv.Itoa(f.top))
	}
	return v
}

// accepted says which job it is, and no more on the output than scripts want.
func (f *submitFlags) accepted(streams Streams, follower *follower, job client.Job) error {
	text := job.ID
	if f.output == "json" {
		text = string(job.Raw)
	}
	if _, err := fmt.Fprintln(streams.Out, text); err != nil {
		return err
	}
	follower.note("stored %s for %s; see them with: %s", counted(job.Items, "item"), job.Model, f.command("watch", job.ID))
	return nil
}
