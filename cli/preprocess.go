package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"image/png"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"triptych/cli/client"
	"triptych/cli/tensor"
	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// preprocessFlags are the flags of triptych preprocess.
type preprocessFlags struct {
	serverFlags
	model    string
	png, npy string
}

func newPreprocess(streams Streams) *cobra.Command {
	var flags preprocessFlags
	cmd := &cobra.Command{
		Use:   "preprocess FILE",
		Short: "Show what a model sees of an image: its tensor, to look at and to compare",
		Long: `Sends an image to a model of backend "image" and shows the tensor that it becomes:
its shape, its numbers by channel, and the SHA-256 of its bytes. With --npy the
tensor goes to a file for numpy.load, to be compared with the pipeline that the
model was trained with; with --png it becomes a picture again.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := flags.client()
			if err != nil {
				return err
			}
			defer c.Close()
			s, err := seeImage(cmd.Context(), c, flags.model, args[0])
			if err != nil {
				return err
			}
			if err := s.save(flags.png, flags.npy); err != nil {
				return err
			}
			return s.write(streams, flags.output)
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&flags.model, "model", "imagenet_preprocess", "The model, one of backend \"image\"")
	cmd.Flags().StringVar(&flags.png, "png", "", "File for the tensor as a picture, its layout and normalisation undone")
	cmd.Flags().StringVar(&flags.npy, "npy", "", "File for the tensor as it is, for numpy.load")
	return cmd
}

// seen is what a model made of an image.
type seen struct {
	Model   string `json:"model"`
	Version string `json:"version"`
	File    string `json:"file"`
	// Decoder is what decodes files of this format there, if it says so.
	Decoder   string           `json:"decoder,omitempty"`
	Resampler string           `json:"resampler,omitempty"`
	Output    string           `json:"output"`
	Datatype  string           `json:"datatype"`
	Shape     []int64          `json:"shape"`
	SHA256    string           `json:"sha256"`
	Channels  []tensor.Channel `json:"channels"`
	Beside    []beside         `json:"beside,omitempty"`
	PNG       string           `json:"png,omitempty"`
	NPY       string           `json:"npy,omitempty"`
	// Undone tells that the picture has the colours of the image.
	Undone bool `json:"undone"`

	image  oip.Tensor
	values []float64
	view   tensor.View
}

// beside is an output that tells where the image is in the tensor.
type beside struct {
	Name     string    `json:"name"`
	Datatype string    `json:"datatype"`
	Values   []float64 `json:"values"`
}

// seeImage sends a file to a model.
func seeImage(ctx context.Context, c *client.Client, model, file string) (*seen, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, failure.Wrap(err, failure.Invalid, "%s can't be read: %s", file, reason(err))
	}
	cfg, err := c.Config(ctx, model)
	if err != nil {
		return nil, err
	}
	if err := takesFiles(cfg); err != nil {
		return nil, err
	}
	metadata, err := c.Metadata(ctx, model)
	if err != nil {
		return nil, err
	}
	input := oip.Tensor{Name: cfg.GetInput()[0].GetName(), Datatype: oip.Bytes, Shape: []int64{1}, Data: oip.JoinStrings(data)}
	if cfg.GetMaxBatchSize() > 0 {
		input.Shape = []int64{1, 1}
	}
	answer, err := c.Infer(ctx, model, input)
	if err != nil {
		return nil, err
	}
	s := &seen{Model: model, Version: answer.Version, File: filepath.Base(file), Resampler: metadata.Properties["resampler"]}
	s.Decoder = metadata.Properties[tensor.Format(data)+"_decoder"]
	return s, s.read(answer.Outputs, cfg, metadata.Properties)
}

// takesFiles wants a model of backend "image" that reads files.
func takesFiles(cfg *inference.ModelConfig) error {
	name := cfg.GetName()
	for _, step := range cfg.GetEnsembleScheduling().GetStep() {
		return failure.New(failure.Invalid, "model %q is an ensemble: ask for the step that reads images, such as --model %s", name, step.GetModelName())
	}
	if cfg.GetBackend() != "image" {
		return failure.New(failure.Invalid, "model %q is of backend %q, and only those of backend \"image\" make tensors of images", name, cfg.GetBackend())
	}
	if in := cfg.GetInput(); len(in) != 1 || in[0].GetDataType() != inference.DataType_TYPE_STRING {
		return failure.New(failure.Invalid, "model %q takes pixels that are decoded already, not files", name)
	}
	return nil
}

// read finds the image among the outputs, and sums it up.
func (s *seen) read(outputs []oip.Tensor, cfg *inference.ModelConfig, properties map[string]string) error {
	named := map[string]bool{}
	for _, key := range []string{"size_output", "scale_output", "padding_output"} {
		named[cfg.GetParameters()[key].GetStringValue()] = true
	}
	for _, out := range outputs {
		values, err := tensor.Values(out)
		switch {
		case err != nil:
			return err
		case named[out.Name]:
			s.Beside = append(s.Beside, beside{out.Name, out.Datatype, values})
		default:
			s.image, s.values = out, values
		}
	}
	var err error
	if s.view, err = tensor.See(s.image, properties); err != nil {
		return err
	}
	sum := sha256.Sum256(s.image.Data)
	s.Output, s.Datatype, s.Shape, s.SHA256 = s.image.Name, s.image.Datatype, s.image.Shape, hex.EncodeToString(sum[:])
	s.Channels, s.Undone = s.view.Summary(s.values), s.view.Known()
	return nil
}

// save writes the files that are wanted.
func (s *seen) save(picture, array string) error {
	s.PNG, s.NPY = picture, array
	var data bytes.Buffer
	if array != "" {
		if err := tensor.WriteNPY(&data, s.image); err != nil {
			return err
		}
		if err := writeFile("npy", array, data.Bytes()); err != nil {
			return err
		}
	}
	if picture == "" {
		return nil
	}
	data.Reset()
	if err := png.Encode(&data, s.view.Picture(s.values)); err != nil {
		return failure.Wrap(err, failure.Internal, "the picture can't be encoded")
	}
	return writeFile("png", picture, data.Bytes())
}

func writeFile(flag, name string, data []byte) error {
	if err := os.WriteFile(name, data, 0o644); err != nil { //nolint:gosec // a picture for everybody
		return failure.Wrap(err, failure.Invalid, "--%s: %s can't be written: %s", flag, name, reason(err))
	}
	return nil
}
