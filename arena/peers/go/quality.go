package main

import (
	"sync/atomic"
	"time"
)

// compute computes, and does not stop, until the other has run, or for 100 ms.
func compute(other *int32) {
	begun := time.Now()
	for atomic.LoadInt32(other) == 0 && time.Since(begun) < 100*time.Millisecond {
	}
}

// hogSpawn: it has started the other just before.
func hogSpawn(n int64) (counts, error) {
	ended := make(chan int64)
	go func() {
		var ran int64
		for ran < n {
			var flag int32
			result := make(chan int64, 1)
			go func() {
				atomic.StoreInt32(&flag, 1)
				result <- 1
			}()
			compute(&flag)
			ran += <-result
		}
		ended <- ran
	}()
	ran := <-ended
	return counts{msgs: ran, units: ran + 1, check: ran}, nil
}

// hog has sent the other something just before; armed: and has heard that its timer runs.
func hog(n int64, armed bool) (counts, error) {
	ask, tell := make(chan struct{}, 1), make(chan struct{}, 2)
	var flag int32
	ended := make(chan int64)
	go func() {
		var ran int64
		for range ask {
			if armed {
				nap := time.NewTimer(time.Millisecond)
				tell <- struct{}{}
				<-nap.C
			}
			ran++
			atomic.StoreInt32(&flag, 1)
			tell <- struct{}{}
		}
		ended <- ran
	}()
	go func() {
		for i := int64(0); i < n; i++ {
			ask <- struct{}{}
			if armed {
				<-tell
			}
			compute(&flag)
			<-tell
			atomic.StoreInt32(&flag, 0)
		}
		close(ask)
	}()
	ran := <-ended
	return counts{msgs: ran, units: 2, check: ran}, nil
}

func qualityCells() map[string]cell {
	with := func(scenario func(n int64) (counts, error)) cell {
		return func(p params) (sample, error) {
			if err := within(size{"n", p.n, 1e6}); err != nil {
				return nil, err
			}
			return repeat(func() (counts, error) { return scenario(p.n) }), nil
		}
	}
	return map[string]cell{
		"quality/hog-spawn": with(hogSpawn),
		"quality/hog-wake":  with(func(n int64) (counts, error) { return hog(n, false) }),
		"quality/hog-timer": with(func(n int64) (counts, error) { return hog(n, true) }),
	}
}
