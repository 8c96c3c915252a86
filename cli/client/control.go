package client

import (
	"context"
	"encoding/json"
	"net/url"
)

// Override is what goes before what the repository has of a model. The zero value
// is nothing.
type Override struct {
	// Config is a configuration in JSON.
	Config string
	// Files are all of the model's folder, by path.
	Files map[string][]byte
}

// Load loads a model, or loads it again.
func (c *Client) Load(ctx context.Context, model string, o Override) error {
	params := map[string]any{}
	if o.Config != "" {
		params["config"] = o.Config
	}
	for path, data := range o.Files {
		params["file:"+path] = data // JSON has bytes in base64
	}
	return c.order(ctx, model, "load", params)
}

// Unload takes a model out of service; with dependents, an ensemble's steps too.
func (c *Client) Unload(ctx context.Context, model string, dependents bool) error {
	params := map[string]any{}
	if dependents {
		params["unload_dependents"] = true
	}
	return c.order(ctx, model, "unload", params)
}

func (c *Client) order(ctx context.Context, model, what string, params map[string]any) error {
	body, err := json.Marshal(map[string]any{"parameters": params})
	if err != nil {
		return err
	}
	return c.post(ctx, "/v2/repository/models/"+url.PathEscape(model)+"/"+what, "application/json", body, &struct{}{})
}
