package main

type chainKind uint8

const (
	chainPing chainKind = iota // value: the number of the receiver, the root is 0
	chainPong                  // value: the depth below the sender, it included
)

type chainMsg struct {
	value int64
	kind  chainKind
}

// chainNode lives until it has passed its Pong on. One place in the mailbox is enough: the
// last child's Pong to itself must not wait.
func chainNode(actors int64, self, parent chan chainMsg) {
	for m := range self {
		if m.kind == chainPong {
			parent <- chainMsg{m.value + 1, chainPong}
			return
		}
		if m.value < actors {
			child := make(chan chainMsg, 1)
			go chainNode(actors, child, self)
			child <- chainMsg{m.value + 1, chainPing}
		} else {
			self <- chainMsg{0, chainPong}
		}
	}
}

func chainRoot(actors int64, self chan chainMsg, done chan<- int64) {
	for m := range self {
		if m.kind == chainPong {
			done <- m.value
			return
		}
		child := make(chan chainMsg, 1)
		go chainNode(actors, child, self)
		child <- chainMsg{m.value + 1, chainPing}
	}
}

// The same with dynamic messages.
type (
	chainPingObj struct{ number int64 }
	chainPongObj struct{ depth int64 }
)

func chainNodeObj(actors int64, self, parent chan interface{}) {
	for m := range self {
		switch m := m.(type) {
		case chainPingObj:
			if m.number < actors {
				child := make(chan interface{}, 1)
				go chainNodeObj(actors, child, self)
				child <- chainPingObj{m.number + 1}
			} else {
				self <- chainPongObj{0}
			}
		case chainPongObj:
			parent <- chainPongObj{m.depth + 1}
			return
		}
	}
}

func chainRootObj(actors int64, self chan interface{}, done chan<- int64) {
	for m := range self {
		switch m := m.(type) {
		case chainPingObj:
			child := make(chan interface{}, 1)
			go chainNodeObj(actors, child, self)
			child <- chainPingObj{m.number + 1}
		case chainPongObj:
			done <- m.depth
			return
		}
	}
}

// chainCounts derives the counts from the depth that came back: one Ping and one Pong for
// each child that answered, the driver's Ping and the last child's Pong to itself.
func chainCounts(depth int64) counts {
	return counts{msgs: 2*depth + 2, units: depth + 1, check: depth}
}

func chainCells() map[string]cell {
	with := func(scenario func(actors int64) int64) cell {
		return func(p params) (sample, error) {
			if err := within(size{"A", p.A, 5e6}); err != nil {
				return nil, err
			}
			return repeat(func() (counts, error) { return chainCounts(scenario(p.A)), nil }), nil
		}
	}
	return map[string]cell{
		"chain/struct": with(func(actors int64) int64 {
			root, done := make(chan chainMsg, 1), make(chan int64, 1)
			go chainRoot(actors, root, done)
			root <- chainMsg{0, chainPing}
			return <-done
		}),
		"chain/obj": with(func(actors int64) int64 {
			root, done := make(chan interface{}, 1), make(chan int64, 1)
			go chainRootObj(actors, root, done)
			root <- chainPingObj{0}
			return <-done
		}),
	}
}
