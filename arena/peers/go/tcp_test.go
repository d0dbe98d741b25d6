package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"
)

// A half is one of the two processes of a cell, here a goroutine with the same protocol.
type half struct {
	t     *testing.T
	to    io.Writer
	from  *bufio.Scanner
	ended chan error
}

func startHalf(t *testing.T) *half {
	in, commands := io.Pipe()
	answers, out := io.Pipe()
	h := &half{t, commands, bufio.NewScanner(answers), make(chan error, 1)}
	go func() { h.ended <- serve(in, out, "go", systems()["go"]) }()
	h.from.Scan()
	return h
}

type anyReply struct {
	T, Msg, Addr           string
	Ready                  int64 `json:"ready_ns"`
	Ns, Msgs, Units, Check int64
	AllocCount             int64      `json:"alloc_count"`
	Hist                   [][2]int64 `json:"hist"`
	Service                [][2]int64 `json:"hist_service"`
}

func (h *half) ask(format string, args ...interface{}) anyReply {
	fmt.Fprintf(h.to, format+"\n", args...)
	h.from.Scan()
	var reply anyReply
	if err := json.Unmarshal(h.from.Bytes(), &reply); err != nil {
		h.t.Fatal(err, h.from.Text())
	}
	return reply
}

func (h *half) quit() {
	fmt.Fprintln(h.to, "quit")
	if err := <-h.ended; err != nil {
		h.t.Error(err)
	}
}

func TestTwoHalves(t *testing.T) {
	server, client := startHalf(t), startHalf(t)
	for _, cell := range []string{"net/echo", "net/echo-mux", "net/paced"} {
		for _, p := range []params{{N: 7, M: 31}, {N: 1, M: 1}, {N: 103, M: 11}} {
			sizes := fmt.Sprintf("cell=%s threads=2 seed=1 N=%d M=%d", cell, p.N, p.M)
			addr := server.ask("prep id=1 %s role=server", sizes).Addr
			if ready := client.ask("prep id=1 %s role=client addr=%s", sizes, addr); ready.Ready <= 0 {
				t.Fatalf("%s: %+v", sizes, ready)
			}
			e := expect(cell, p)
			for _, inner := range []int64{1, 3} {
				r := client.ask("run id=2 inner=%d", inner)
				got := expected{r.Msgs, r.Units, r.Check}
				if got != (expected{inner * e.msgs, inner * e.units, inner * e.check}) || r.Ns <= 0 {
					t.Errorf("%s inner=%d: %+v", sizes, inner, r)
				}
			}
			r := client.ask("run id=3 inner=1 hist=1 rate=497 secs=1")
			got, want := expected{r.Msgs, r.Units, r.Check}, expected{994, 2 * p.N, 497 * 496 / 2}
			if got != want || sum(r.Hist) != 497 || sum(r.Service) != 497 || r.Ns < 900e6 {
				t.Errorf("%s paced: %+v", sizes, r)
			}
			if r := client.ask("drop id=4"); r.T != "ok" {
				t.Errorf("drop: %+v", r)
			}
		}
	}
	if r := server.ask("run id=5 inner=1"); r.T != "err" {
		t.Errorf("a server that runs: %+v", r)
	}
	client.quit()
	server.quit()
}

func sum(hist [][2]int64) (total int64) {
	for _, bucket := range hist {
		total += bucket[1]
	}
	return total
}

func TestOneProcessAndWhatCannotBe(t *testing.T) {
	h := startHalf(t)
	if r := h.ask("prep id=1 cell=net/echo-oneproc threads=2 N=7 M=31"); r.Ready <= 0 {
		t.Fatalf("%+v", r)
	}
	if r := h.ask("run id=2 inner=2"); r.Check != 2*7*31*30/2 || r.Units != 28 {
		t.Errorf("%+v", r)
	}
	for _, wrong := range []string{
		"cell=net/echo N=7 M=31",
		"cell=net/echo role=client addr=127.0.0.1:1 N=7 M=31",
		"cell=net/echo-mux role=client addr=127.0.0.1:1 N=7 M=31",
		"cell=net/echo role=server N=0 M=31",
	} {
		if r := h.ask("prep id=3 %s", wrong); r.T != "err" {
			t.Errorf("%s: %+v", wrong, r)
		}
	}
	h.quit()
}

func TestHistogramBuckets(t *testing.T) {
	var h histogram
	for _, v := range []time.Duration{0, 63, 64, 65, 127, 128, 1 << 62, -5} {
		h.add(v)
	}
	got := fmt.Sprint(h.list())
	if want := "[[0 2] [63 1] [64 2] [95 1] [96 1] [1856 1]]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// What is made before the clock starts does not count: a repetition with one request for each pair has hardly more
// allocations for a request than the average of one with a hundred.
func TestAllocationsAreThoseOfTheTimedPart(t *testing.T) {
	peer := startHalf(t)
	for _, cell := range []string{"net/local", "net/echo-oneproc"} {
		perRequest := func(m int64) float64 {
			peer.ask("prep id=1 cell=%s threads=2 seed=1 N=300 M=%d", cell, m)
			return float64(peer.ask("run id=2 inner=1 alloc=1").AllocCount) / float64(300*m)
		}
		one, many := perRequest(1), perRequest(100)
		if many == 0 && cell == "net/local" || one > many+2 {
			t.Errorf("%s: %.2f allocations for each of 300 requests, %.2f of 30,000", cell, one, many)
		}
	}
	peer.quit()
}
