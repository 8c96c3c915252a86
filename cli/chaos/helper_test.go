//go:build chaos

package chaos_test
