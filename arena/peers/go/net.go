package main

import (
	"fmt"
	"time"
)

// request carries its number and a fresh channel for the one answer.
type request struct {
	number int64
	reply  chan int64
}

func echo(server chan<- request, number int64) (int64, error) {
	reply := make(chan int64, 1)
	server <- request{number, reply}
	if answer := <-reply; answer != number {
		return 0, fmt.Errorf("asked %d, the answer is %d", number, answer)
	}
	return number, nil
}

// local makes the pairs, lets each client have one verified echo, and times only the rest.
func local(n, m int64) (time.Duration, counts, error) {
	type result struct {
		answered, sum, served int64
		err                   error
	}
	ready := make(chan error, n)
	start := make(chan struct{})
	results := make(chan result, 2*n)
	for i := int64(0); i < n; i++ {
		server := make(chan request, room)
		go func() {
			r := result{served: -1} // the echo before the start
			for q := range server {
				q.reply <- q.number
				r.served++
			}
			results <- r
		}()
		go func() {
			defer close(server)
			_, err := echo(server, -1)
			ready <- err
			<-start
			var r result
			for ; r.answered < m && r.err == nil; r.answered++ {
				var v int64
				v, r.err = echo(server, r.answered)
				r.sum += v
			}
			results <- r
		}()
	}
	var err error
	for i := int64(0); i < n; i++ {
		if e := <-ready; e != nil {
			err = e
		}
	}
	var c counts
	begun := begin()
	close(start)
	for i := int64(0); i < 2*n; i++ {
		r := <-results
		c.add(counts{r.answered + r.served, 1, r.sum})
		if r.err != nil {
			err = r.err
		}
	}
	return end(begun), c, err
}

func netCells() map[string]cell {
	return map[string]cell{
		"net/local": func(p params) (sample, error) {
			if err := within(size{"N", p.N, 1e6}, size{"M", p.M, 1 << 31}); err != nil {
				return nil, err
			}
			return func(inner int64) (time.Duration, counts, error) {
				var ns time.Duration
				var total counts
				for i := int64(0); i < inner; i++ {
					d, c, err := local(p.N, p.M)
					if err != nil {
						return 0, total, err
					}
					ns += d
					total.add(c)
				}
				return ns, total, nil
			}, nil
		},
	}
}
