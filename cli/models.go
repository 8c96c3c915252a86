package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"triptych/cli/client"
	"triptych/cli/style"
	"triptych/cli/table"
	"triptych/shared/modelserver"
)

func newModels(streams Streams) *cobra.Command {
	var flags serverFlags
	cmd := &cobra.Command{
		Use:   "models",
		Short: "List the models of all services with their states, load and unload them",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := flags.client()
			if err != nil {
				return err
			}
			defer c.Close()
			models, err := c.Models(cmd.Context())
			if err != nil {
				return err
			}
			if flags.output == "json" {
				return json.NewEncoder(streams.Out).Encode(models)
			}
			return writeModels(streams.Out, models)
		},
	}
	flags.register(cmd)
	cmd.AddCommand(newLoad(streams), newUnload(streams))
	return cmd
}

func writeModels(w io.Writer, models []client.Model) error {
	s := style.For(w)
	t := table.New(s, "MODEL", "VERSION", "STATE", "REASON")
	for _, m := range models {
		color := style.Red
		if m.State == string(modelserver.Ready) {
			color = style.Green
		}
		t.Row(table.Text(m.Name), table.Text(m.Version), table.Cell{Text: m.State, Color: color}, table.Text(m.Reason))
	}
	if len(models) == 0 {
		_, err := fmt.Fprintln(w, "no models")
		return err
	}
	return t.Write(w)
}
