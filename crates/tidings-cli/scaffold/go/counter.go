package main

import "sync"

// counterSend: P producers send n additions each to one counter, through a channel with a buffer.
func counterSend(size map[string]int64) func() counts {
	producers, n := size["P"], size["n"]
	return func() counts {
		mailbox := make(chan int64, 1024)
		get := make(chan chan counts)
		go func() {
			var sum counts
			for {
				select {
				case amount := <-mailbox:
					sum.msgs++
					sum.check += amount
				case reply := <-get:
					// All producers are done: what is still in the buffer comes first.
					for len(mailbox) > 0 {
						sum.msgs++
						sum.check += <-mailbox
					}
					reply <- sum
					return
				}
			}
		}()
		var done sync.WaitGroup
		for i := int64(0); i < producers; i++ {
			done.Add(1)
			go func() {
				defer done.Done()
				for k := int64(0); k < n; k++ {
					mailbox <- 100
				}
			}()
		}
		done.Wait()
		reply := make(chan counts)
		get <- reply
		sum := <-reply
		sum.units = producers + 1
		return sum
	}
}
