package main

import (
	"fmt"
	"math/bits"
	"time"
)

// latencies of one request: from the time it was due, and from just before it was written.
type latencies struct{ due, sent time.Duration }

type pacedResult struct {
	ns            time.Duration
	total         counts
	hist, service [][2]int64
}

// paced makes rate*secs requests, request k by client k mod N, due at k/rate.
func (l *link) paced(rate, secs int64) (pacedResult, error) {
	if l.ends == nil {
		return pacedResult{}, fmt.Errorf("a server runs nothing")
	}
	if err := within(size{"rate", rate, 1e8}, size{"secs", secs, 1e4}); err != nil {
		return pacedResult{}, err
	}
	type result struct {
		seen          []latencies
		answered, sum int64
		err           error
	}
	requests, n := rate*secs, int64(len(l.ends))
	timer, err := newExactTimer()
	if err != nil {
		return pacedResult{}, err
	}
	defer timer.close()
	results := make(chan result, n)
	queues := make([]chan int64, n)
	each := requests/n + 1
	var start time.Time
	for i := range queues {
		queues[i] = make(chan int64, each) // the pacer never waits
		go func(end echoer, queue <-chan int64) {
			r := result{seen: make([]latencies, 0, each)}
			for k := range queue {
				due := start.Add(dueAt(k, rate))
				sent := time.Now()
				answer, err := end.echo(k)
				if err != nil {
					r.err = err
					break
				}
				now := time.Now()
				r.seen = append(r.seen, latencies{now.Sub(due), now.Sub(sent)})
				r.sum += answer
				r.answered++
			}
			results <- r
		}(l.ends[i], queues[i])
	}
	start = time.Now() // read by the clients only after their first request
	for k := int64(0); k < requests; {
		now := time.Since(start)
		for ; k < requests && dueAt(k, rate) <= now; k++ {
			queues[k%n] <- k
		}
		if k < requests {
			if err := timer.sleep(dueAt(k, rate) - time.Since(start)); err != nil {
				return pacedResult{}, err
			}
		}
	}
	for _, queue := range queues {
		close(queue)
	}
	all := make([]result, n)
	for i := range all {
		all[i] = <-results
	}
	p := pacedResult{ns: time.Since(start)}
	var due, sent histogram
	for _, r := range all {
		if r.err != nil {
			err = r.err
		}
		p.total.add(counts{2 * r.answered, 2, r.sum})
		for _, latency := range r.seen {
			due.add(latency.due)
			sent.add(latency.sent)
		}
	}
	p.hist, p.service = due.list(), sent.list()
	return p, err
}

func dueAt(k, rate int64) time.Duration {
	return time.Duration(k/rate)*time.Second + time.Duration(k%rate*int64(time.Second)/rate)
}

// A histogram has 32 buckets for each power of two from 64 on.
type histogram [58*32 + 32]int64

func (h *histogram) add(latency time.Duration) {
	v := uint64(latency)
	if latency < 0 {
		v = 0
	}
	e := 63 - bits.LeadingZeros64(v|63)
	h[(e-5)*32+int(v>>(e-5))]++
}

func (h *histogram) list() [][2]int64 {
	var list [][2]int64
	for bucket, count := range h {
		if count > 0 {
			list = append(list, [2]int64{int64(bucket), count})
		}
	}
	return list
}
