package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// A frame is the length of what follows in 4 bytes, then it; integers are big-endian.
const (
	numberBytes = 8
	frameBytes  = 4 + numberBytes
)

// An echoer is the client's end of a pair.
type echoer interface {
	echo(number int64) (int64, error)
}

// connection is one client's own connection.
type connection struct {
	conn  net.Conn
	frame [frameBytes]byte
}

func (c *connection) echo(number int64) (int64, error) {
	binary.BigEndian.PutUint32(c.frame[:], numberBytes)
	binary.BigEndian.PutUint64(c.frame[4:], uint64(number))
	if _, err := c.conn.Write(c.frame[:]); err != nil {
		return 0, err
	}
	if err := readFrame(c.conn, c.frame[:]); err != nil {
		return 0, err
	}
	return verified(number, int64(binary.BigEndian.Uint64(c.frame[4:])))
}

func verified(number, answer int64) (int64, error) {
	if answer != number {
		return 0, fmt.Errorf("asked %d, the answer is %d", number, answer)
	}
	return answer, nil
}

// readFrame fills the frame, whose length is known beforehand.
func readFrame(from io.Reader, frame []byte) error {
	if _, err := io.ReadFull(from, frame); err != nil {
		return err
	}
	if length := binary.BigEndian.Uint32(frame); int(length) != len(frame)-4 {
		return fmt.Errorf("a frame of %d bytes, must have %d", length, len(frame)-4)
	}
	return nil
}

// serveEcho answers one client until it leaves.
func serveEcho(conn net.Conn) error {
	var frame [frameBytes]byte
	for {
		if err := readFrame(conn, frame[:]); err != nil {
			return err
		}
		if _, err := conn.Write(frame[:]); err != nil {
			return err
		}
	}
}

// A server accepts connections and runs a goroutine for each.
type server struct {
	listener net.Listener
	running  sync.WaitGroup
	lock     sync.Mutex
	conns    []net.Conn
}

func listen(handle func(net.Conn) error) (*server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{listener: listener}
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.(*net.TCPConn).SetNoDelay(true)
			s.lock.Lock()
			s.conns = append(s.conns, conn)
			s.lock.Unlock()
			s.running.Add(1)
			go func() {
				defer s.running.Done()
				defer conn.Close()
				complain(handle(conn))
			}()
		}
	}()
	return s, nil
}

func (s *server) addr() string { return s.listener.Addr().String() }

// close ends the connections that are still there and waits for their goroutines.
func (s *server) close() {
	s.listener.Close()
	s.lock.Lock()
	for _, conn := range s.conns {
		conn.Close()
	}
	s.lock.Unlock()
	s.running.Wait()
}

func dial(addr string) (net.Conn, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return conn, conn.(*net.TCPConn).SetNoDelay(true)
}

// A link is what prep makes of a cell over TCP: a server, or the clients, or both.
type link struct {
	server *server
	ends   []echoer
	closer func()
	ready  time.Duration
}

func (l *link) close() {
	if l.closer != nil {
		l.closer()
	}
	if l.server != nil {
		l.server.close()
	}
}

// connectEach gives every client a connection and one verified echo, all at once.
func (l *link) connectEach(addr string, n int64) error {
	begin := time.Now()
	conns := make([]net.Conn, n)
	l.closer = func() {
		for _, conn := range conns {
			if conn != nil {
				conn.Close()
			}
		}
	}
	l.ends = make([]echoer, n)
	failed := make(chan error, n)
	for i := int64(0); i < n; i++ {
		go func(i int64) {
			conn, err := dial(addr)
			if err == nil {
				end := &connection{conn: conn}
				conns[i], l.ends[i] = conn, end
				_, err = end.echo(-1)
			}
			failed <- err
		}(i)
	}
	err := firstOf(failed, n)
	l.ready = time.Since(begin)
	return err
}

func firstOf(errs <-chan error, n int64) (first error) {
	for i := int64(0); i < n; i++ {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// once lets all clients start together and make m requests each.
func (l *link) once(m int64) (time.Duration, counts, error) {
	type result struct {
		answered, sum int64
		err           error
	}
	start := make(chan struct{})
	results := make(chan result, len(l.ends))
	for _, end := range l.ends {
		go func(end echoer) {
			<-start
			var r result
			for r.answered < m {
				answer, err := end.echo(r.answered)
				if err != nil {
					r.err = err
					break
				}
				r.sum += answer
				r.answered++
			}
			results <- r
		}(end)
	}
	var c counts
	var err error
	begun := begin()
	close(start)
	for range l.ends {
		r := <-results
		c.add(counts{2 * r.answered, 2, r.sum})
		if r.err != nil {
			err = r.err
		}
	}
	return end(begun), c, err
}

// sample repeats the scenario; the connections stay.
func (l *link) sample(m int64) sample {
	if l.ends == nil {
		return func(int64) (time.Duration, counts, error) {
			return 0, counts{}, errors.New("a server runs nothing")
		}
	}
	return func(inner int64) (time.Duration, counts, error) {
		var ns time.Duration
		var total counts
		for i := int64(0); i < inner; i++ {
			d, c, err := l.once(m)
			if err != nil {
				return 0, total, err
			}
			ns += d
			total.add(c)
		}
		return ns, total, nil
	}
}

// A linkCell makes the part of a cell that the role in its parameters names.
type linkCell func(params) (*link, error)

func linkCells(system string) map[string]linkCell {
	if system != "go" {
		return nil
	}
	echo := transport{
		handle:  func(params) func(net.Conn) error { return serveEcho },
		connect: (*link).connectEach,
	}
	mux := transport{
		handle:  func(p params) func(net.Conn) error { return muxServer(p.N) },
		connect: (*link).connectShared,
	}
	return map[string]linkCell{
		"net/echo":         echo.twoProcesses,
		"net/echo-mux":     mux.twoProcesses,
		"net/echo-oneproc": echo.oneProcess,
		"net/paced":        echo.twoProcesses,
	}
}

type transport struct {
	handle  func(params) func(net.Conn) error
	connect func(*link, string, int64) error
}

func linkSizes(p params) error {
	return within(size{"N", p.N, 1e5}, size{"M", p.M, 1 << 31})
}

func (t transport) twoProcesses(p params) (*link, error) {
	if err := linkSizes(p); err != nil {
		return nil, err
	}
	l := &link{}
	var err error
	switch p.role {
	case "server":
		l.server, err = listen(t.handle(p))
	case "client":
		err = t.connect(l, p.addr, p.N)
	default:
		err = limit{fmt.Sprintf("role=%q: must be server or client", p.role)}
	}
	return l.orClosed(err)
}

func (t transport) oneProcess(p params) (*link, error) {
	if err := linkSizes(p); err != nil {
		return nil, err
	}
	l := &link{}
	var err error
	if l.server, err = listen(t.handle(p)); err == nil {
		err = t.connect(l, l.server.addr(), p.N)
	}
	return l.orClosed(err)
}

func (l *link) orClosed(err error) (*link, error) {
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}
