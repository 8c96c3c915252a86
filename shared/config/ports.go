// Package config turns flags and their environment twins into settings, and
// knows the default ports. It holds no settings of its own.
package config

// The default addresses of every service; only the gateway speaks HTTP.
const (
	HTTPAddress  = "127.0.0.1:8000"
	GRPCAddress  = "127.0.0.1:8001"
	AdminAddress = "127.0.0.1:8002"
)
