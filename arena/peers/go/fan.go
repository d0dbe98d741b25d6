package main

import "sync"

type fanKind uint8

const (
	fanStart fanKind = iota
	fanPing
	fanPong
	fanStop
)

type fanMsg struct {
	index int64
	kind  fanKind
}

// fanEnd is what the two tasks did; each counts the messages it took from its channel.
type fanEnd struct {
	parent, child, sum int64
	done               sync.WaitGroup
}

// mailbox is the room of both channels. It holds all messages up to about N=1000.
func mailbox(n int64) int64 {
	if n < 1024 {
		return n + 1
	}
	return 1024
}

// The parent may not wait for room while it sends its Pings, since the child may wait for
// room in the parent's mailbox. If they do not all fit, a goroutine sends them, which is
// also faster than a channel with a million places.
func fanParent(n int64, self chan fanMsg, end *fanEnd) {
	var taken, sum int64
	for m := range self {
		taken++
		switch m.kind {
		case fanStart:
			child := make(chan fanMsg, mailbox(n))
			go fanChild(n, child, self, end)
			if n < int64(cap(child)) {
				fanPings(n, child)
			} else {
				go fanPings(n, child)
			}
		case fanPong:
			sum += m.index
			if m.index == n-1 {
				self <- fanMsg{0, fanStop}
			}
		case fanStop:
			end.parent, end.sum = taken, sum
			end.done.Done()
			return
		}
	}
}

func fanPings(n int64, child chan<- fanMsg) {
	for i := int64(0); i < n; i++ {
		child <- fanMsg{i, fanPing}
	}
}

func fanChild(n int64, self, parent chan fanMsg, end *fanEnd) {
	var taken int64
	for m := range self {
		taken++
		if m.kind == fanStop {
			end.child = taken
			end.done.Done()
			return
		}
		parent <- fanMsg{m.index, fanPong}
		if m.index == n-1 {
			self <- fanMsg{0, fanStop}
		}
	}
}

// The same with dynamic messages.
type (
	fanStartObj struct{}
	fanPingObj  struct{ index int64 }
	fanPongObj  struct{ index int64 }
	fanStopObj  struct{}
)

func fanParentObj(n int64, self chan interface{}, end *fanEnd) {
	var taken, sum int64
	for m := range self {
		taken++
		switch m := m.(type) {
		case fanStartObj:
			child := make(chan interface{}, mailbox(n))
			go fanChildObj(n, child, self, end)
			if n < int64(cap(child)) {
				fanPingsObj(n, child)
			} else {
				go fanPingsObj(n, child)
			}
		case fanPongObj:
			sum += m.index
			if m.index == n-1 {
				self <- fanStopObj{}
			}
		case fanStopObj:
			end.parent, end.sum = taken, sum
			end.done.Done()
			return
		}
	}
}

func fanPingsObj(n int64, child chan<- interface{}) {
	for i := int64(0); i < n; i++ {
		child <- fanPingObj{i}
	}
}

func fanChildObj(n int64, self, parent chan interface{}, end *fanEnd) {
	var taken int64
	for m := range self {
		taken++
		switch m := m.(type) {
		case fanPingObj:
			parent <- fanPongObj{m.index}
			if m.index == n-1 {
				self <- fanStopObj{}
			}
		case fanStopObj:
			end.child = taken
			end.done.Done()
			return
		}
	}
}

func fanCells() map[string]cell {
	with := func(start func(n int64, end *fanEnd)) cell {
		return func(p params) (sample, error) {
			if err := within(size{"N", p.N, 1e8}); err != nil {
				return nil, err
			}
			return repeat(func() (counts, error) {
				var end fanEnd
				end.done.Add(2)
				start(p.N, &end)
				end.done.Wait()
				return counts{end.parent + end.child, 2, end.sum}, nil
			}), nil
		}
	}
	return map[string]cell{
		"fan/struct": with(func(n int64, end *fanEnd) {
			parent := make(chan fanMsg, mailbox(n))
			go fanParent(n, parent, end)
			parent <- fanMsg{0, fanStart}
		}),
		"fan/obj": with(func(n int64, end *fanEnd) {
			parent := make(chan interface{}, mailbox(n))
			go fanParentObj(n, parent, end)
			parent <- fanStartObj{}
		}),
	}
}
