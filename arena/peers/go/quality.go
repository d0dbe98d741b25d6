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

// fair: pairs of which none stops before the slowest has made n round trips.
func fair(p, n int64) (counts, error) {
	behind := p
	clients := make(chan int64)
	for i := int64(0); i < p; i++ {
		ask := make(chan chan int64, 1)
		go func() {
			for reply := range ask {
				reply <- 1
			}
		}()
		go func() {
			replies := make(chan int64, 1)
			var made int64
			for atomic.LoadInt64(&behind) > 0 {
				ask <- replies
				made += <-replies
				if made == n {
					atomic.AddInt64(&behind, -1)
				}
			}
			close(ask)
			clients <- made
		}()
	}
	var total counts
	for i := int64(0); i < p; i++ {
		made := <-clients
		if made > n {
			made = n
		}
		total.msgs += 2 * made
		total.units += 2
		total.check += made
	}
	return total, nil
}

// idle: goroutines that wait for what does not come.
func idle(p, n int64) (counts, error) {
	end, ended := make(chan struct{}), make(chan int64)
	for i := int64(0); i < p; i++ {
		go func() {
			<-end
			ended <- 1
		}()
	}
	time.Sleep(time.Duration(n) * 10 * time.Millisecond)
	close(end)
	var over int64
	for i := int64(0); i < p; i++ {
		over += <-ended
	}
	return counts{msgs: n, units: over, check: over}, nil
}

func qualityCells() map[string]cell {
	with := func(scenario func(p, n int64) (counts, error)) cell {
		return func(p params) (sample, error) {
			if err := within(size{"p", p.p, 1e6}, size{"n", p.n, 1e6}); err != nil {
				return nil, err
			}
			return repeat(func() (counts, error) { return scenario(p.p, p.n) }), nil
		}
	}
	return map[string]cell{
		"quality/hog-spawn": with(func(_, n int64) (counts, error) { return hogSpawn(n) }),
		"quality/hog-wake":  with(func(_, n int64) (counts, error) { return hog(n, false) }),
		"quality/hog-timer": with(func(_, n int64) (counts, error) { return hog(n, true) }),
		"quality/pairs":     with(fair),
		"quality/idle":      with(idle),
	}
}
