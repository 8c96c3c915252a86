package svg_test

import (
	"testing"

	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
