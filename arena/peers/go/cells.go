package main

import (
	"errors"
	"fmt"
	"runtime"
	"sort"
	"time"
)

// params are the numbers of a prep command; one that was not sent is 0.
type params struct {
	threads, seed             int64
	p, n, w, P, A, N, M, S, k int64
	role, addr                string // of cells with two processes
}

// counts is what one repetition, or the sum of several, really did.
type counts struct {
	msgs, units, check int64
}

func (c *counts) add(d counts) {
	c.msgs += d.msgs
	c.units += d.units
	c.check += d.check
}

// A sample does inner repetitions and says how long the timed parts took.
type sample func(inner int64) (time.Duration, counts, error)

// A cell checks its parameters and makes everything that is not timed.
type cell func(params) (sample, error)

// limit is an error about a size; it is answered with kind "limit".
type limit struct{ msg string }

func (l limit) Error() string { return l.msg }

var errTimeout = errors.New("a timeout of 100 ms fired")
var errWords = errors.New("the words of a message differ")

// meter adds up what all goroutines allocate in the timed parts of a sample, if the sample wants to know.
var meter struct {
	on           bool
	bytes, count uint64
	before       runtime.MemStats
}

// begin starts the clock of a timed part. Reading the allocator's figures stops the world, so it is done before.
func begin() time.Time {
	if meter.on {
		runtime.ReadMemStats(&meter.before)
	}
	return time.Now()
}

// end gives the time of a timed part.
func end(start time.Time) time.Duration {
	elapsed := time.Since(start)
	if meter.on {
		var after runtime.MemStats
		runtime.ReadMemStats(&after)
		meter.bytes += after.TotalAlloc - meter.before.TotalAlloc
		meter.count += after.Mallocs - meter.before.Mallocs
	}
	return elapsed
}

// repeat times a scenario that has no part outside the timed region.
func repeat(scenario func() (counts, error)) sample {
	return func(inner int64) (time.Duration, counts, error) {
		var total counts
		start := begin()
		for i := int64(0); i < inner; i++ {
			c, err := scenario()
			if err != nil {
				return 0, total, err
			}
			total.add(c)
		}
		return end(start), total, nil
	}
}

type size struct {
	name       string
	value, max int64
}

// within refuses sizes below 1 or above what 24 GB hold.
func within(sizes ...size) error {
	for _, s := range sizes {
		if s.value < 1 || s.value > s.max {
			return limit{fmt.Sprintf("%s=%d: this peer takes 1 to %d", s.name, s.value, s.max)}
		}
	}
	return nil
}

// systems maps each system of this peer to its cells.
func systems() map[string]map[string]cell {
	all := map[string]cell{}
	for _, part := range []map[string]cell{
		pingpongCells(), chainCells(), fanCells(), counterCells(),
		skynetCells(), spawnCells(), netCells(), growthCells(), qualityCells(),
	} {
		for name, c := range part {
			all[name] = c
		}
	}
	return map[string]map[string]cell{"go": all, "go-reused-timer": reusedTimerCells()}
}

func names(system string, cells map[string]cell) []string {
	list := make([]string, 0, len(cells))
	for name := range cells {
		list = append(list, name)
	}
	for name := range linkCells(system) {
		list = append(list, name)
	}
	sort.Strings(list)
	return list
}
