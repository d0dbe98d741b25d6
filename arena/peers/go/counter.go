package main

import (
	"sync"
	"time"
)

const (
	step    = 100
	patient = 100 * time.Millisecond
)

// counterMsg is Add, or GetAndReset if it carries the address of the answer.
type counterMsg struct {
	add   int64
	reply chan<- int64
}

func counterActor(inbox <-chan counterMsg) {
	var sum int64
	for m := range inbox {
		if m.reply != nil {
			m.reply <- sum
			sum = 0
		} else {
			sum += m.add
		}
	}
}

// produce starts the producers, waits for all and adds up how often each of them sent.
func produce(p params, producer func(n int64) (int64, error)) (int64, error) {
	type result struct {
		sent int64
		err  error
	}
	results := make(chan result, p.P)
	for i := int64(0); i < p.P; i++ {
		go func() {
			sent, err := producer(p.n)
			results <- result{sent, err}
		}()
	}
	var sent int64
	var err error
	for i := int64(0); i < p.P; i++ {
		r := <-results
		sent += r.sent
		if r.err != nil {
			err = r.err
		}
	}
	return sent, err
}

// plain: one channel, one question after all producers have ended.
func plain(p params, buffer int64) (counts, error) {
	inbox := make(chan counterMsg, buffer)
	defer close(inbox)
	go counterActor(inbox)
	sent, _ := produce(p, func(n int64) (int64, error) {
		var sent int64
		for ; sent < n; sent++ {
			inbox <- counterMsg{add: step}
		}
		return sent, nil
	})
	reply := make(chan int64, 1)
	inbox <- counterMsg{reply: reply}
	return counts{sent, p.P + 1, <-reply}, nil
}

// askEach: every producer asks for itself, the answers are added.
func askEach(p params, buffer int64) (counts, error) {
	inbox := make(chan counterMsg, buffer)
	defer close(inbox)
	go counterActor(inbox)
	answers := make(chan int64, p.P)
	sent, _ := produce(p, func(n int64) (int64, error) {
		var sent int64
		for ; sent < n; sent++ {
			inbox <- counterMsg{add: step}
		}
		reply := make(chan int64, 1)
		inbox <- counterMsg{reply: reply}
		answers <- <-reply
		return sent, nil
	})
	var sum int64
	for i := int64(0); i < p.P; i++ {
		sum += <-answers
	}
	return counts{sent, p.P + 1, sum}, nil
}

type selectProducer func(add chan<- int64, n int64) (int64, error)

func selecting(p params, buffer int64, producer selectProducer) (counts, error) {
	add := make(chan int64, buffer)
	get := make(chan chan<- int64, buffer)
	go selectActor(add, get)
	sent, err := produce(p, func(n int64) (int64, error) { return producer(add, n) })
	reply := make(chan int64, 1)
	get <- reply
	c := counts{sent, p.P + 1, <-reply}
	close(get)
	return c, err
}

// selectActor chooses between Add and GetAndReset. With a buffer, Adds sent before the
// question may still wait in it, so it takes those first.
func selectActor(add <-chan int64, get <-chan chan<- int64) {
	var sum int64
	for {
		select {
		case v := <-add:
			sum += v
		case reply, ok := <-get:
			if !ok {
				return
			}
			for len(add) > 0 {
				sum += <-add
			}
			reply <- sum
			sum = 0
		}
	}
}

func sendPlain(add chan<- int64, n int64) (int64, error) {
	var sent int64
	for ; sent < n; sent++ {
		add <- step
	}
	return sent, nil
}

func sendAfter(add chan<- int64, n int64) (int64, error) {
	for sent := int64(0); sent < n; sent++ {
		select {
		case add <- step:
		case <-time.After(patient):
			return sent, errTimeout
		}
	}
	return n, nil
}

// sendReused has one timer and arms it only when the counter is not ready: the same choice,
// and about 1.2 (rendezvous) to 1.5 times (buffered) as fast as a Reset before every select.
func sendReused(add chan<- int64, n int64) (int64, error) {
	timer := time.NewTimer(patient)
	defer timer.Stop()
	for sent := int64(0); sent < n; sent++ {
		select {
		case add <- step:
			continue
		default:
		}
		timer.Reset(patient)
		select {
		case add <- step:
		case <-timer.C:
			return sent, errTimeout
		}
	}
	return n, nil
}

// mutex: no messages, a floor.
func mutex(p params) (counts, error) {
	var lock sync.Mutex
	var sum int64
	sent, _ := produce(p, func(n int64) (int64, error) {
		var sent int64
		for ; sent < n; sent++ {
			lock.Lock()
			sum += step
			lock.Unlock()
		}
		return sent, nil
	})
	lock.Lock()
	defer lock.Unlock()
	return counts{sent, p.P + 1, sum}, nil
}

func counterCell(scenario func(p params) (counts, error)) cell {
	return func(p params) (sample, error) {
		if err := within(size{"P", p.P, 1e6}, size{"n", p.n, 1 << 31}); err != nil {
			return nil, err
		}
		return repeat(func() (counts, error) { return scenario(p) }), nil
	}
}

func counterCells() map[string]cell {
	return map[string]cell{
		"counter/send":         counterCell(func(p params) (counts, error) { return plain(p, 1024) }),
		"counter/bounded-1024": counterCell(func(p params) (counts, error) { return plain(p, 1024) }),
		"counter/give":         counterCell(func(p params) (counts, error) { return plain(p, 0) }),
		"counter/ask-each":     counterCell(func(p params) (counts, error) { return askEach(p, 1024) }),
		"counter/select":       counterCell(func(p params) (counts, error) { return selecting(p, 0, sendAfter) }),
		"counter/select-no-timer": counterCell(func(p params) (counts, error) {
			return selecting(p, 0, sendPlain)
		}),
		"counter/select-buffered": counterCell(func(p params) (counts, error) {
			return selecting(p, 1024, sendAfter)
		}),
		"counter/select-buffered-no-timer": counterCell(func(p params) (counts, error) {
			return selecting(p, 1024, sendPlain)
		}),
		"counter/mutex": counterCell(mutex),
	}
}

// reusedTimerCells are the cells in which the way to arm the timer matters.
func reusedTimerCells() map[string]cell {
	return map[string]cell{
		"counter/select": counterCell(func(p params) (counts, error) {
			return selecting(p, 0, sendReused)
		}),
		"counter/select-buffered": counterCell(func(p params) (counts, error) {
			return selecting(p, 1024, sendReused)
		}),
	}
}
