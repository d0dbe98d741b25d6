package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
)

type expected struct{ msgs, units, check int64 }

// expect is WORKLOADS.md in numbers.
func expect(cell string, p params) expected {
	workload, variant := cell[:strings.IndexByte(cell, '/')], cell[strings.IndexByte(cell, '/')+1:]
	triangle := func(n int64) int64 { return n * (n - 1) / 2 }
	switch workload {
	case "pingpong":
		return expected{2 * p.p * p.n, 2 * p.p, p.p * triangle(p.n)}
	case "net":
		return expected{2 * p.N * p.M, 2 * p.N, p.N * triangle(p.M)}
	case "chain":
		return expected{2*p.A + 2, p.A + 1, p.A}
	case "fan":
		return expected{2*p.N + 3, 2, triangle(p.N)}
	case "counter":
		return expected{p.P * p.n, p.P + 1, 100 * p.P * p.n}
	case "skynet":
		nodes := (10*p.S - 1) / 9
		if variant == "floor" {
			return expected{nodes, 0, triangle(p.S)}
		}
		return expected{nodes, nodes, triangle(p.S)}
	case "spawn":
		return expected{p.n, p.n, p.n}
	case "growth":
		switch variant {
		case "waiters":
			return expected{p.n, p.k + 1, triangle(p.n)}
		case "branches", "payload":
			return expected{p.n, 2, triangle(p.n)}
		}
		return expected{p.n, p.n, p.n}
	case "quality":
		switch variant {
		case "pairs":
			return expected{2 * p.p * p.n, 2 * p.p, p.p * p.n}
		case "idle":
			return expected{p.n, p.p, p.p}
		case "hog-spawn":
			return expected{p.n, p.n + 1, p.n}
		}
		return expected{p.n, p.p, p.n}
	}
	panic(cell)
}

var odd = map[string][]params{
	"pingpong": {{p: 3, n: 997}, {p: 1, n: 1}, {p: 2, n: 7, w: 3}, {p: 5, n: 1500}},
	"net":      {{N: 7, M: 31}, {N: 1, M: 1}},
	"chain":    {{A: 1}, {A: 7}, {A: 103}},
	"fan":      {{N: 1}, {N: 997}, {N: 1023}, {N: 1024}, {N: 5003}},
	"counter":  {{P: 3, n: 997}, {P: 1, n: 1}, {P: 11, n: 3001}},
	"skynet":   {{S: 1}, {S: 10}, {S: 1000}},
	"spawn":    {{n: 1}, {n: 997}},
	"growth":   {{k: 8, n: 1}, {k: 64, n: 997}, {k: 512, n: 1500}},
	"quality":  {{p: 2, n: 1}, {p: 2, n: 3}},
}

func TestEveryCellAtOddSizes(t *testing.T) {
	for system, cells := range systems() {
		for name, make := range cells {
			for _, p := range odd[name[:strings.IndexByte(name, '/')]] {
				sample, err := make(p)
				if err != nil {
					t.Errorf("%s %s %+v: %v", system, name, p, err)
					continue
				}
				for _, inner := range []int64{1, 3} {
					ns, c, err := sample(inner)
					if err == errTimeout { // a busy machine; twice would be strange
						ns, c, err = sample(inner)
					}
					e := expect(name, p)
					want := counts{inner * e.msgs, inner * e.units, inner * e.check}
					if err != nil || c != want || ns <= 0 {
						t.Errorf("%s %s %+v inner=%d: %v %+v, want %+v (%v)",
							system, name, p, inner, ns, c, want, err)
					}
				}
			}
		}
	}
}

func TestSizesOutOfRangeAreRefused(t *testing.T) {
	for name, make := range systems()["go"] {
		for _, v := range []int64{0, -1, 1 << 62} {
			p := params{p: v, n: v, w: v, P: v, A: v, N: v, M: v, S: v, k: v}
			if _, err := make(p); err == nil || kind(err) != "limit" {
				t.Errorf("%s with sizes of %d: %v", name, v, err)
			}
		}
	}
	if _, err := systems()["go"]["skynet/tree-ch"](params{S: 20}); err == nil {
		t.Error("S=20 is not a power of 10")
	}
}

func TestProtocol(t *testing.T) {
	script := []struct{ command, answer string }{
		{"ping id=1", `{"arena":1,"t":"ok","id":1}`},
		{"run id=2 inner=1", `"t":"err","id":2,"kind":"bug"`},
		{"prep id=3 cell=nope/nope", `"t":"err","id":3,"kind":"unsupported"`},
		{"prep id=4 cell=spawn/joined threads=1 n=0", `"t":"err","id":4,"kind":"limit"`},
		{"prep id=5 cell=spawn/joined n=99999999999999999999", `"kind":"limit"`},
		{"prep id=6 cell=spawn/joined threads=2 n=5 seed=1 unknown=x", `{"arena":1,"t":"ok","id":6}`},
		{"run id=7 inner=3", `"inner":3,"msgs":15,"units":15,"check":15,"gc":[`},
		{"run id=8 inner=1 alloc=1", `"alloc_bytes":`},
		{"run id=9 inner=0", `"kind":"limit"`},
		{"drop id=10", `{"arena":1,"t":"ok","id":10}`},
		{"run id=11", `"kind":"bug"`},
		{"dance id=12", `"t":"err","id":12,"kind":"unsupported"`},
	}
	in, commands := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serve(in, out, "go", systems()["go"]) }()
	lines := bufio.NewScanner(answers)
	lines.Scan()
	var h hello
	if err := json.Unmarshal(lines.Bytes(), &h); err != nil || h.T != "hello" || len(h.Cells) < 30 {
		t.Fatalf("hello: %v %s", err, lines.Text())
	}
	for _, s := range script {
		fmt.Fprintln(commands, s.command)
		lines.Scan()
		if !json.Valid(lines.Bytes()) || !strings.Contains(lines.Text(), s.answer) {
			t.Errorf("%s: %s, want %s", s.command, lines.Text(), s.answer)
		}
	}
	fmt.Fprintln(commands, "quit")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
