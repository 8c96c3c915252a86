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

// decode reads a report into as much of it as is wanted.
func decode(name string, report any) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, report); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// read takes the points from a report.
func read(name string) ([]point, error) {
	var report struct {
		Points []point `json:"points"`
	}
	if err := decode(name, &report); err != nil {
		return nil, err
	}
	if len(report.Points) == 0 {
		return nil, errors.New(name + " has no points: run row 2 of the benchmark")
	}
	return report.Points, nil
}
