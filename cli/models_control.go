package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"triptych/cli/client"
	"triptych/shared/failure"
)

func newLoad(streams Streams) *cobra.Command {
	var flags serverFlags
	var config string
	var files []string
	cmd := &cobra.Command{
		Use:   "load NAME",
		Short: "Load a model, or load it again",
		Long: `Loads a model as the repository has it; what serves goes on until the new one is
warm. An ensemble is loaded with its steps. With --config, and --file, it is loaded
with these in the place of what the repository has, until the next plain load. The
services must run with --model-control-mode explicit.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := readOverride(config, files)
			if err != nil {
				return err
			}
			return flags.order(cmd.Context(), streams, args[0], "loaded", func(ctx context.Context, c *client.Client) error {
				return c.Load(ctx, args[0], o)
			})
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&config, "config", "", "File with a configuration in JSON that goes before config.pbtxt")
	cmd.Flags().StringArrayVar(&files, "file", nil, "VERSION/PATH=FILE: a file of the model's folder, whose contents these replace; only with --config")
	return cmd
}

func newUnload(streams Streams) *cobra.Command {
	var flags serverFlags
	var dependents bool
	cmd := &cobra.Command{
		Use:   "unload NAME",
		Short: "Take a model out of service",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.order(cmd.Context(), streams, args[0], "unloaded", func(ctx context.Context, c *client.Client) error {
				return c.Unload(ctx, args[0], dependents)
			})
		},
	}
	flags.register(cmd)
	cmd.Flags().BoolVar(&dependents, "dependents", false, "Unload an ensemble's steps too, except those that another ensemble calls")
	return cmd
}

// order has a gateway do something with a model, and says that it is done.
func (f *serverFlags) order(ctx context.Context, streams Streams, model, done string, do func(context.Context, *client.Client) error) error {
	c, err := f.client()
	if err != nil {
		return err
	}
	defer c.Close()
	if err := do(ctx, c); err != nil {
		return err
	}
	if f.output == "json" {
		return json.NewEncoder(streams.Out).Encode(map[string]string{"model": model, "state": done})
	}
	_, err = fmt.Fprintf(streams.Out, "%s is %s\n", model, done)
	return err
}

func readOverride(config string, files []string) (client.Override, error) {
	var o client.Override
	if config == "" {
		if len(files) > 0 {
			return o, failure.New(failure.Invalid, "--file goes only with --config")
		}
		return o, nil
	}
	data, err := readFile("config", config)
	if err != nil {
		return o, err
	}
	o.Config, o.Files = string(data), map[string][]byte{}
	for _, f := range files {
		path, name, ok := strings.Cut(f, "=")
		if !ok {
			return o, failure.New(failure.Invalid, "--file %q is not VERSION/PATH=FILE", f)
		}
		if o.Files[path], err = readFile("file", name); err != nil {
			return o, err
		}
	}
	return o, nil
}

func readFile(flag, name string) ([]byte, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "--%s: %q can't be read", flag, name)
	}
	return data, nil
}
