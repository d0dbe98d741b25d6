package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

type hello struct {
	Arena   int      `json:"arena"`
	T       string   `json:"t"`
	System  string   `json:"system"`
	Peer    string   `json:"peer"`
	Version string   `json:"version"`
	Runtime string   `json:"runtime"`
	Flags   string   `json:"flags"`
	Threads int      `json:"threads"`
	Pid     int      `json:"pid"`
	ClockNs int64    `json:"clock_ns"`
	Caps    []string `json:"caps"`
	Cells   []string `json:"cells"`
}

type okReply struct {
	Arena int    `json:"arena"`
	T     string `json:"t"`
	ID    int64  `json:"id"`
	Addr  string `json:"addr,omitempty"`
	Ready int64  `json:"ready_ns,omitempty"`
}

type sampleReply struct {
	Arena      int      `json:"arena"`
	T          string   `json:"t"`
	ID         int64    `json:"id"`
	Ns         int64    `json:"ns"`
	Inner      int64    `json:"inner"`
	Msgs       int64    `json:"msgs"`
	Units      int64    `json:"units"`
	Check      int64    `json:"check"`
	GC         []uint32 `json:"gc"`
	AllocBytes *uint64  `json:"alloc_bytes,omitempty"`
	AllocCount *uint64  `json:"alloc_count,omitempty"`

	Hist        [][2]int64 `json:"hist,omitempty"`
	HistService [][2]int64 `json:"hist_service,omitempty"`
}

type errReply struct {
	Arena int    `json:"arena"`
	T     string `json:"t"`
	ID    int64  `json:"id"`
	Kind  string `json:"kind"`
	Msg   string `json:"msg"`
}

// clockNs is the cost of one reading of the clock.
func clockNs() int64 {
	const readings = 2000
	start := time.Now()
	for i := 0; i < readings; i++ {
		_ = time.Now()
	}
	return int64(time.Since(start)) / readings
}

func flags() string {
	words := []string{"go build"}
	for _, name := range []string{"GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG"} {
		if v := os.Getenv(name); v != "" {
			words = append(words, name+"="+v)
		}
	}
	return strings.Join(words, " ")
}

// serve runs the protocol until quit or the end of the input.
func serve(in io.Reader, out io.Writer, system string, cells map[string]cell) error {
	enc := json.NewEncoder(out) // one line per value, written at once
	enc.SetEscapeHTML(false)
	err := enc.Encode(hello{
		Arena: 1, T: "hello", System: system, Peer: "go",
		Version: strings.TrimPrefix(runtime.Version(), "go"),
		Runtime: runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
		Flags:   flags(), Threads: runtime.GOMAXPROCS(0), Pid: os.Getpid(), ClockNs: clockNs(),
		Caps: []string{"alloc", "gc", "hist", "units"}, Cells: names(system, cells),
	})
	if err != nil {
		return err
	}
	current := &prepared{links: linkCells(system)}
	defer current.drop()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		word, args := parse(lines.Text())
		id := args.num("id")
		var reply interface{} = okReply{Arena: 1, T: "ok", ID: id}
		switch word {
		case "prep":
			current.drop()
			reply, err = current.prep(cells, args)
		case "run":
			reply, err = current.run(args)
		case "drop":
			current.drop()
			debug.FreeOSMemory() // a full collection too
		case "ping":
		case "quit":
			return nil
		default:
			err = unsupported("unknown command " + strconv.Quote(word))
		}
		if err == nil {
			err = args.err
		}
		if err != nil {
			reply = errReply{1, "err", id, kind(err), err.Error()}
			err = nil
		}
		if err := enc.Encode(reply); err != nil {
			return err
		}
	}
	return lines.Err()
}

// prepared is what the last prep made: the sample, and the connections under it if it has any.
type prepared struct {
	links  map[string]linkCell
	sample sample
	link   *link
}

func (c *prepared) drop() {
	if c.link != nil {
		c.link.close()
	}
	c.sample, c.link = nil, nil
}

func (c *prepared) prep(cells map[string]cell, args *arguments) (interface{}, error) {
	name := args.words["cell"]
	make, plain := cells[name]
	connect, linked := c.links[name]
	if !plain && !linked {
		return nil, unsupported("no cell " + strconv.Quote(name))
	}
	p := params{
		threads: args.num("threads"), seed: args.num("seed"),
		p: args.num("p"), n: args.num("n"), w: args.num("w"), P: args.num("P"),
		A: args.num("A"), N: args.num("N"), M: args.num("M"), S: args.num("S"), k: args.num("k"),
		role: args.words["role"], addr: args.words["addr"],
	}
	if args.err != nil {
		return nil, args.err
	}
	if p.threads > 0 && p.threads != int64(runtime.GOMAXPROCS(0)) {
		if err := within(size{"threads", p.threads, 1 << 10}); err != nil {
			return nil, err
		}
		runtime.GOMAXPROCS(int(p.threads))
	}
	reply := okReply{Arena: 1, T: "ok", ID: args.num("id")}
	var err error
	if plain {
		c.sample, err = make(p)
		return reply, err
	}
	if c.link, err = connect(p); err != nil {
		return nil, err
	}
	c.sample = c.link.sample(p.M)
	if p.role == "server" {
		reply.Addr = c.link.server.addr()
	} else {
		reply.Ready = int64(c.link.ready)
	}
	return reply, nil
}

func (c *prepared) run(args *arguments) (interface{}, error) {
	if c.sample == nil {
		return nil, errors.New("run without prep")
	}
	if args.num("hist") == 1 {
		return c.paced(args)
	}
	inner := int64(1)
	if _, ok := args.words["inner"]; ok {
		inner = args.num("inner")
	}
	if err := within(size{"inner", inner, 1 << 40}); err != nil {
		return nil, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	meter.on, meter.bytes, meter.count = args.num("alloc") == 1, 0, 0
	ns, n, err := c.sample(inner)
	counted := meter.on
	meter.on = false
	if err != nil {
		return nil, err
	}
	runtime.ReadMemStats(&after)
	reply := sampleReply{
		Arena: 1, T: "sample", ID: args.num("id"), Ns: int64(ns), Inner: inner,
		Msgs: n.msgs, Units: n.units, Check: n.check, GC: []uint32{after.NumGC - before.NumGC},
	}
	if counted {
		bytes, count := meter.bytes, meter.count
		reply.AllocBytes, reply.AllocCount = &bytes, &count
	}
	return reply, nil
}

func (c *prepared) paced(args *arguments) (interface{}, error) {
	if c.link == nil {
		return nil, unsupported("this cell has no schedule")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p, err := c.link.paced(args.num("rate"), args.num("secs"))
	if err != nil {
		return nil, err
	}
	runtime.ReadMemStats(&after)
	return sampleReply{
		Arena: 1, T: "sample", ID: args.num("id"), Ns: int64(p.ns), Inner: 1,
		Msgs: p.total.msgs, Units: p.total.units, Check: p.total.check,
		GC: []uint32{after.NumGC - before.NumGC}, Hist: p.hist, HistService: p.service,
	}, nil
}

type unsupported string

func (u unsupported) Error() string { return string(u) }

func kind(err error) string {
	switch err.(type) {
	case unsupported:
		return "unsupported"
	case limit:
		return "limit"
	}
	return "bug"
}

// arguments are the key=value words of a command; the first bad number is kept in err.
type arguments struct {
	words map[string]string
	err   error
}

func parse(line string) (string, *arguments) {
	words := strings.Fields(line)
	args := &arguments{words: map[string]string{}}
	if len(words) == 0 {
		return "", args
	}
	for _, word := range words[1:] {
		if i := strings.IndexByte(word, '='); i > 0 {
			args.words[word[:i]] = word[i+1:]
		}
	}
	return words[0], args
}

// num is 0 for a key that was not sent.
func (a *arguments) num(key string) int64 {
	word, ok := a.words[key]
	if !ok {
		return 0
	}
	v, err := strconv.ParseInt(word, 10, 64)
	if err != nil && a.err == nil {
		a.err = limit{fmt.Sprintf("%s=%s is not a 64-bit number", key, word)}
	}
	return v
}
