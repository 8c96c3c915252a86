// Package e2e tests the services as what they are in production: processes of
// their own, that are killed and come back. It has nothing but tests.
package e2e
