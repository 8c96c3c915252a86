// Package chaos tests that no accepted item of a job is lost, and none is decided
// twice, whatever dies meanwhile: real processes of the services and of nats-server
// are killed, stopped, cut off and filled up. The tests have the build tag "chaos":
// they take minutes, and `make test-chaos` runs them. What they are made of lies in
// the packages below and is tested with all others.
package chaos
