package main

import "sync"

// room is the buffer of a mailbox that is "never full" at w=1; 1, 16 and 128 run alike.
const room = 16

// ping carries its number and the address the answer goes to.
type ping struct {
	seq   int64
	reply chan<- int64
}

// side is what one task of a pair did.
type side struct {
	sent, sum int64
	_         [6]int64 // a cache line each
}

// pairs starts p pairs at once, waits for both sides of each and adds what they did.
func pairs(p int64, start func(done *sync.WaitGroup, client, server *side)) (counts, error) {
	sides := make([]side, 2*p)
	var done sync.WaitGroup
	done.Add(len(sides))
	for i := 0; i < len(sides); i += 2 {
		start(&done, &sides[i], &sides[i+1])
	}
	done.Wait()
	var c counts
	for i := range sides {
		c.msgs += sides[i].sent
		c.check += sides[i].sum
		c.units++
	}
	return c, nil
}

// tell: one channel into each side, room for the window, or none at all for a rendezvous.
func tell(done *sync.WaitGroup, client, server *side, n, w, buffer int64) {
	requests := make(chan ping, buffer)
	replies := make(chan int64, buffer)
	go func() {
		var sent int64
		for m := range requests {
			m.reply <- m.seq
			sent++
		}
		server.sent = sent
		done.Done()
	}()
	go func() {
		var sent, sum int64
		for ; sent < w && sent < n; sent++ {
			requests <- ping{sent, replies}
		}
		for answered := int64(0); answered < n; answered++ {
			sum += <-replies
			if sent < n {
				requests <- ping{sent, replies}
				sent++
			}
		}
		close(requests)
		client.sent, client.sum = sent, sum
		done.Done()
	}()
}

// fixed: two channels per pair, the message is the number alone.
func fixed(done *sync.WaitGroup, client, server *side, n, buffer int64) {
	requests := make(chan int64, buffer)
	replies := make(chan int64, buffer)
	go func() {
		var sent int64
		for seq := range requests {
			replies <- seq
			sent++
		}
		server.sent = sent
		done.Done()
	}()
	go func() {
		var sum int64
		for i := int64(0); i < n; i++ {
			requests <- i
			sum += <-replies
		}
		close(requests)
		client.sent, client.sum = n, sum
		done.Done()
	}()
}

// call: a fresh one-shot reply channel per request.
func call(done *sync.WaitGroup, client, server *side, n, buffer int64) {
	requests := make(chan ping, buffer)
	go func() {
		var sent int64
		for m := range requests {
			m.reply <- m.seq
			sent++
		}
		server.sent = sent
		done.Done()
	}()
	go func() {
		var sum int64
		for i := int64(0); i < n; i++ {
			reply := make(chan int64, 1)
			requests <- ping{i, reply}
			sum += <-reply
		}
		close(requests)
		client.sent, client.sum = n, sum
		done.Done()
	}()
}

type cancellable struct {
	ping
	nack <-chan struct{}
}

// callNack: the server offers its answer until the client takes it or has gone away.
func callNack(done *sync.WaitGroup, client, server *side, n int64) {
	requests := make(chan cancellable)
	go func() {
		var sent int64
		for m := range requests {
			select {
			case m.reply <- m.seq:
				sent++
			case <-m.nack:
			}
		}
		server.sent = sent
		done.Done()
	}()
	go func() {
		var sum int64
		for i := int64(0); i < n; i++ {
			reply, nack := make(chan int64), make(chan struct{})
			requests <- cancellable{ping{i, reply}, nack}
			sum += <-reply
		}
		close(requests)
		client.sent, client.sum = n, sum
		done.Done()
	}()
}

// choice: every operation of fixed stands in a select beside a channel nobody sends on.
func choice(done *sync.WaitGroup, client, server *side, n int64) {
	requests := make(chan int64)
	replies := make(chan int64)
	go func() {
		var sent int64
		never := make(chan int64)
	serve:
		for {
			var seq int64
			var ok bool
			select {
			case seq, ok = <-requests:
				if !ok {
					break serve
				}
			case <-never:
				break serve
			}
			select {
			case replies <- seq:
				sent++
			case <-never:
				break serve
			}
		}
		server.sent = sent
		done.Done()
	}()
	go func() {
		var sent, sum int64
		never := make(chan int64)
	ask:
		for sent < n {
			select {
			case requests <- sent:
				sent++
			case <-never:
				break ask
			}
			select {
			case seq := <-replies:
				sum += seq
			case <-never:
				break ask
			}
		}
		close(requests)
		client.sent, client.sum = sent, sum
		done.Done()
	}()
}

func pingpongCells() map[string]cell {
	type starter func(done *sync.WaitGroup, client, server *side, p params)
	with := func(window int64, start starter) cell {
		return func(p params) (sample, error) {
			if p.w == 0 {
				p.w = window
			}
			err := within(size{"p", p.p, 1e6}, size{"n", p.n, 1 << 31}, size{"w", p.w, 1e6})
			if err != nil {
				return nil, err
			}
			return repeat(func() (counts, error) {
				return pairs(p.p, func(done *sync.WaitGroup, client, server *side) {
					start(done, client, server, p)
				})
			}), nil
		}
	}
	windowed := func(d *sync.WaitGroup, c, s *side, p params) { tell(d, c, s, p.n, p.w, p.w) }
	return map[string]cell{
		"pingpong/tell":         with(1, func(d *sync.WaitGroup, c, s *side, p params) { tell(d, c, s, p.n, 1, room) }),
		"pingpong/tell-bounded": with(1, func(d *sync.WaitGroup, c, s *side, p params) { tell(d, c, s, p.n, 1, 1) }),
		"pingpong/tell-w100":    with(100, windowed),
		"pingpong/tell-w1000":   with(1000, windowed),
		"pingpong/give":         with(1, func(d *sync.WaitGroup, c, s *side, p params) { tell(d, c, s, p.n, 1, 0) }),
		"pingpong/tell-fixed":   with(1, func(d *sync.WaitGroup, c, s *side, p params) { fixed(d, c, s, p.n, room) }),
		"pingpong/give-fixed":   with(1, func(d *sync.WaitGroup, c, s *side, p params) { fixed(d, c, s, p.n, 0) }),
		"pingpong/call":         with(1, func(d *sync.WaitGroup, c, s *side, p params) { call(d, c, s, p.n, 0) }),
		"pingpong/call-send":    with(1, func(d *sync.WaitGroup, c, s *side, p params) { call(d, c, s, p.n, room) }),
		"pingpong/call-nack":    with(1, func(d *sync.WaitGroup, c, s *side, p params) { callNack(d, c, s, p.n) }),
		"pingpong/choice":       with(1, func(d *sync.WaitGroup, c, s *side, p params) { choice(d, c, s, p.n) }),
	}
}
