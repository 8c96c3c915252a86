package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// point is one side's medians at one load.
type point struct {
	Percent float64 `json:"percent"`
	Side    string  `json:"side"`
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
	Batch   float64 `json:"batch"`
}

// read takes the points from a report.
func read(name string) ([]point, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var report struct {
		Points []point `json:"points"`
	}
	if err := json.Unmarshal(data, &report); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(report.Points) == 0 {
		return nil, errors.New(name + " has no points: run row 2 of the benchmark")
	}
	return report.Points, nil
}
