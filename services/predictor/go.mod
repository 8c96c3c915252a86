module triptych/services/predictor

go 1.26.0

require (
	triptych/proto v0.0.0
	triptych/shared v0.0.0
)

replace triptych/proto => ../../proto

replace triptych/shared => ../../shared
