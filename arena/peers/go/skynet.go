package main

import (
	"sync"
	"sync/atomic"
)

const children = 10

// tree is what the nodes of one size share. In the untimed pass of prep it counts them.
type tree struct {
	counting bool
	nodes    int64
	leaves   int64 // still missing at the barrier of alive
	gate     chan struct{}
}

func (t *tree) born() {
	if t.counting {
		atomic.AddInt64(&t.nodes, 1)
	}
}

// nodeCh: every node is a goroutine; an inner node waits on a channel of its own.
func nodeCh(t *tree, parent chan<- int64, number, size int64) {
	t.born()
	if size == 1 {
		parent <- number
		return
	}
	replies := make(chan int64)
	size /= children
	for i := int64(0); i < children; i++ {
		go nodeCh(t, replies, number+i*size, size)
	}
	var sum int64
	for i := 0; i < children; i++ {
		sum += <-replies
	}
	parent <- sum
}

func treeCh(t *tree, size int64) int64 {
	result := make(chan int64, 1)
	go nodeCh(t, result, 0, size)
	return <-result
}

// nodeAlive: as nodeCh, but a leaf answers only when all leaves exist.
func nodeAlive(t *tree, parent chan<- int64, number, size int64) {
	t.born()
	if size == 1 {
		if atomic.AddInt64(&t.leaves, -1) == 0 {
			close(t.gate)
		} else {
			<-t.gate
		}
		parent <- number
		return
	}
	replies := make(chan int64)
	size /= children
	for i := int64(0); i < children; i++ {
		go nodeAlive(t, replies, number+i*size, size)
	}
	var sum int64
	for i := 0; i < children; i++ {
		sum += <-replies
	}
	parent <- sum
}

func alive(t *tree, size int64) int64 {
	t.leaves, t.gate = size, make(chan struct{})
	result := make(chan int64, 1)
	go nodeAlive(t, result, 0, size)
	return <-result
}

// family is what a node of tasks waits for.
type family struct {
	all  sync.WaitGroup
	sums [children]int64
}

// nodeTask: every node is a goroutine, the parent waits for the results of its children.
func nodeTask(t *tree, result *int64, done *sync.WaitGroup, number, size int64) {
	t.born()
	if size == 1 {
		*result = number
		done.Done()
		return
	}
	var f family
	f.all.Add(children)
	size /= children
	for i := range f.sums {
		go nodeTask(t, &f.sums[i], &f.all, number+int64(i)*size, size)
	}
	f.all.Wait()
	var sum int64
	for _, s := range f.sums {
		sum += s
	}
	*result = sum
	done.Done()
}

func tasks(t *tree, size int64) int64 {
	var result int64
	var done sync.WaitGroup
	done.Add(1)
	go nodeTask(t, &result, &done, 0, size)
	done.Wait()
	return result
}

// floor: recursion, no units.
func floor(number, size int64) int64 {
	if size == 1 {
		return number
	}
	size /= children
	var sum int64
	for i := int64(0); i < children; i++ {
		sum += floor(number+i*size, size)
	}
	return sum
}

func powerOfTen(s int64) error {
	if err := within(size{"S", s, 1e8}); err != nil {
		return err
	}
	for ; s%children == 0; s /= children {
	}
	if s != 1 {
		return limit{"S must be a power of 10"}
	}
	return nil
}

func skynetCells() map[string]cell {
	with := func(scenario func(t *tree, size int64) int64) cell {
		return func(p params) (sample, error) {
			if err := powerOfTen(p.S); err != nil {
				return nil, err
			}
			pass := tree{counting: true}
			scenario(&pass, p.S)
			return repeat(func() (counts, error) {
				return counts{pass.nodes, pass.nodes, scenario(&tree{}, p.S)}, nil
			}), nil
		}
	}
	return map[string]cell{
		"skynet/tree-ch": with(treeCh),
		"skynet/tasks":   with(tasks),
		"skynet/alive":   with(alive),
		"skynet/floor": func(p params) (sample, error) {
			if err := powerOfTen(p.S); err != nil {
				return nil, err
			}
			return repeat(func() (counts, error) {
				return counts{(10*p.S - 1) / 9, 0, floor(0, p.S)}, nil
			}), nil
		},
	}
}
