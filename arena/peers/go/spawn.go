package main

import (
	"runtime"
	"sync/atomic"
)

// burst is after how many starts the starter lets the others run, so that their stacks are used again while they are warm.
const burst = 64

// detached: nobody joins; the task that brings the counter to n says so.
func detached(n int64) (counts, error) {
	var counter int64
	done := make(chan struct{})
	task := func() { // made once: a function literal behind each go would be an object of its own
		if atomic.AddInt64(&counter, 1) == n {
			close(done)
		}
	}
	go func() {
		for i := int64(1); i <= n; i++ {
			go task()
			if i%burst == 0 {
				runtime.Gosched()
			}
		}
	}()
	<-done
	ran := atomic.LoadInt64(&counter)
	return counts{msgs: ran, units: ran, check: ran}, nil
}

// joined: start one, await its result, n times.
func joined(n int64) (counts, error) {
	result := make(chan int64)
	var sum, started int64
	task := func() { result <- 1 }
	for ; started < n; started++ {
		go task()
		sum += <-result
	}
	return counts{msgs: sum, units: started, check: sum}, nil
}

func spawnCells() map[string]cell {
	with := func(scenario func(n int64) (counts, error)) cell {
		return func(p params) (sample, error) {
			if err := within(size{"n", p.n, 1e9}); err != nil {
				return nil, err
			}
			return repeat(func() (counts, error) { return scenario(p.n) }), nil
		}
	}
	return map[string]cell{"spawn/detached": with(detached), "spawn/joined": with(joined)}
}
