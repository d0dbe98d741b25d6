package main

import (
	"reflect"
	"sync/atomic"
	"time"
)

// gated: k at a time; the last to arrive opens the gate at which the others wait.
func gated(k, n int64) (counts, error) {
	var ran int64
	for ran < n {
		size := least(k, n-ran)
		var arrived, passed int64
		gate, done := make(chan struct{}), make(chan struct{})
		task := func() {
			if atomic.AddInt64(&arrived, 1) == size {
				close(gate)
			}
			<-gate
			if atomic.AddInt64(&passed, 1) == size {
				close(done)
			}
		}
		for i := int64(0); i < size; i++ {
			go task()
		}
		<-done
		ran += atomic.LoadInt64(&passed)
	}
	return counts{msgs: ran, units: ran, check: ran}, nil
}

// waiters: k wait on one channel; each message is given to one of them.
func waiters(k, n int64) (counts, error) {
	values := make(chan int64)
	ended := make(chan counts)
	for i := int64(0); i < k; i++ {
		go func() {
			mine := counts{units: 1}
			for v := range values {
				mine.msgs++
				mine.check += v
			}
			ended <- mine
		}()
	}
	for v := int64(0); v < n; v++ {
		values <- v
	}
	close(values)
	total := counts{units: 1}
	for i := int64(0); i < k; i++ {
		total.add(<-ended)
	}
	return total, nil
}

// branches: one chooses among k channels; the other gives to each in turn.
func branches(k, n int64) (counts, error) {
	channels := make([]chan int64, k)
	cases := make([]reflect.SelectCase, k)
	for i := range channels {
		channels[i] = make(chan int64)
		cases[i] = reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(channels[i])}
	}
	go func() {
		for v := int64(0); v < n; v++ {
			channels[v%k] <- v
		}
	}()
	total := counts{units: 2}
	for total.msgs < n {
		_, v, _ := reflect.Select(cases)
		total.msgs++
		total.check += v.Int()
	}
	return total, nil
}

// timers: k are armed at a time: the oldest is cancelled, and a new one armed.
func timers(k, n int64) (counts, error) {
	armed := make([]*time.Timer, least(k, n))
	var cancelled int64
	cancel := func(t *time.Timer) {
		if t.Stop() {
			cancelled++
		}
	}
	for i := int64(0); i < n; i++ {
		place := i % k
		if i >= k {
			cancel(armed[place])
		}
		armed[place] = time.NewTimer(time.Duration(10_000+i*7919%60_000) * time.Millisecond)
	}
	for _, t := range armed {
		cancel(t)
	}
	return counts{msgs: cancelled, units: cancelled, check: cancelled}, nil
}

// payload: the value is the number, and so many words in all.
func payload[T any](n int64, of func(int64) T, ends func(*T) (int64, int64)) func() (counts, error) {
	return func() (counts, error) {
		values := make(chan T, 1024)
		go func() {
			for i := int64(0); i < n; i++ {
				values <- of(i)
			}
			close(values)
		}()
		total := counts{units: 2}
		for v := range values {
			first, last := ends(&v)
			if first != last {
				return total, errWords
			}
			total.msgs++
			total.check += first
		}
		return total, nil
	}
}

func fill(words []int64, i int64) {
	for place := range words {
		words[place] = i
	}
}

func payloadCell(p params) (sample, error) {
	n := p.n
	if err := within(size{"k", p.k, 4096}, size{"n", n, 1e9}); err != nil {
		return nil, err
	}
	switch p.k {
	case 8:
		type T = [1]int64
		return repeat(payload(n, func(i int64) T { return T{i} }, func(v *T) (int64, int64) { return v[0], v[0] })), nil
	case 64:
		type T = [8]int64
		return repeat(payload(n, func(i int64) (v T) { fill(v[:], i); return }, func(v *T) (int64, int64) { return v[0], v[7] })), nil
	case 512:
		type T = [64]int64
		return repeat(payload(n, func(i int64) (v T) { fill(v[:], i); return }, func(v *T) (int64, int64) { return v[0], v[63] })), nil
	case 4096:
		type T = [512]int64
		return repeat(payload(n, func(i int64) (v T) { fill(v[:], i); return }, func(v *T) (int64, int64) { return v[0], v[511] })), nil
	}
	return nil, limit{"k must be 8, 64, 512 or 4096"}
}

func growthCells() map[string]cell {
	with := func(most int64, scenario func(k, n int64) (counts, error)) cell {
		return func(p params) (sample, error) {
			if err := within(size{"k", p.k, most}, size{"n", p.n, 1e9}); err != nil {
				return nil, err
			}
			return repeat(func() (counts, error) { return scenario(p.k, p.n) }), nil
		}
	}
	return map[string]cell{
		"growth/tasks":    with(5_000_000, gated),
		"growth/waiters":  with(5_000_000, waiters),
		"growth/branches": with(10_000, branches),
		"growth/timers":   with(10_000_000, timers),
		"growth/payload":  payloadCell,
	}
}

// least is min, which go 1.18 does not have.
func least(a, b int64) int64 {
	if a < b {
		return a
	}
	return b
}
