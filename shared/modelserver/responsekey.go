package modelserver

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strings"

	"triptych/proto/inference"
	"triptych/shared/call"
	"triptych/shared/oip"
)

// responseKey stands for everything of a request that its answer depends on.
type responseKey [sha256.Size]byte

// runKey is a responseKey together with how urgent the request is: a request
// must not wait for the run of a less urgent one.
type runKey struct {
	response          responseKey
	level             uint64
	priority, timeout int64
}

// keyMaker makes keys. Tensors are hashed by GMAC under a key of this process: at
// the speed of memory, and since nobody outside sees a key or a tag, no caller can
// make two tensors that collide. Safe for concurrent use.
type keyMaker struct {
	tags  cipher.AEAD
	nonce []byte
}

func newKeyMaker() (*keyMaker, error) {
	secret := make([]byte, 16)
	if _, err := rand.Read(secret); err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	tags, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &keyMaker{tags: tags, nonce: make([]byte, tags.NonceSize())}, nil
}

// make is the key of a request with raw contents.
func (k *keyMaker) make(ctx context.Context, req *inference.ModelInferRequest) (runKey, error) {
	priority, err := oip.IntParameter(req.GetParameters(), "priority", 0)
	if err != nil {
		return runKey{}, err
	}
	timeout, err := oip.IntParameter(req.GetParameters(), "timeout", 0)
	if err != nil {
		return runKey{}, err
	}
	return runKey{k.response(req), call.Of(ctx).Priority, priority, timeout}, nil
}

// response hashes the inputs and the outputs, in whatever order they come, and
// the parameters. All lengths are in it, so that no two requests have one text.
func (k *keyMaker) response(req *inference.ModelInferRequest) responseKey {
	text := make([]byte, 0, 512)
	inputs := req.GetInputs()
	text = binary.AppendUvarint(text, uint64(len(inputs)))
	for _, i := range sortedBy(len(inputs), func(i int) string { return inputs[i].GetName() }) {
		in, data := inputs[i], req.GetRawInputContents()[i]
		text = appendText(text, in.GetName())
		text = appendText(text, in.GetDatatype())
		text = binary.AppendUvarint(text, uint64(len(in.GetShape())))
		for _, d := range in.GetShape() {
			text = binary.AppendVarint(text, d)
		}
		text = appendParameters(text, in.GetParameters())
		text = binary.AppendUvarint(text, uint64(len(data)))
		text = k.tags.Seal(text, k.nonce, nil, data)
	}
	outputs := req.GetOutputs()
	text = binary.AppendUvarint(text, uint64(len(outputs)))
	for _, i := range sortedBy(len(outputs), func(i int) string { return outputs[i].GetName() }) {
		text = appendText(text, outputs[i].GetName())
		text = appendParameters(text, outputs[i].GetParameters())
	}
	return sha256.Sum256(appendParameters(text, req.GetParameters()))
}

// sortedBy are the indices of n things, by their names.
func sortedBy(n int, name func(i int) string) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(name(a), name(b)) })
	return order
}

func appendText(dst []byte, text string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(text)))
	return append(dst, text...)
}

// scheduling tells whether a parameter is about when a request runs, or where,
// and not about what is computed.
func scheduling(name string) bool {
	return name == "priority" || name == "timeout" ||
		strings.HasPrefix(name, "sequence_") || strings.HasPrefix(name, "triton_") || strings.HasPrefix(name, "triptych_")
}

// appendParameters appends the parameters that an answer can depend on, and an
// end.
func appendParameters(dst []byte, params oip.Parameters) []byte {
	if len(params) > 0 {
		for _, name := range slices.Sorted(maps.Keys(params)) {
			if !scheduling(name) {
				dst = appendParameter(appendText(append(dst, 1), name), params[name])
			}
		}
	}
	return append(dst, 0)
}

func appendParameter(dst []byte, p *inference.InferParameter) []byte {
	switch v := p.GetParameterChoice().(type) {
	case *inference.InferParameter_BoolParam:
		if v.BoolParam {
			return append(dst, 'b', 1)
		}
		return append(dst, 'b', 0)
	case *inference.InferParameter_Int64Param:
		return binary.AppendVarint(append(dst, 'i'), v.Int64Param)
	case *inference.InferParameter_Uint64Param:
		return binary.AppendUvarint(append(dst, 'u'), v.Uint64Param)
	case *inference.InferParameter_DoubleParam:
		return binary.LittleEndian.AppendUint64(append(dst, 'd'), math.Float64bits(v.DoubleParam))
	case *inference.InferParameter_StringParam:
		return appendText(append(dst, 's'), v.StringParam)
	default:
		return append(dst, '-')
	}
}
