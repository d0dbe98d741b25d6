// @ID@ as a peer of the tidings arena. The protocol is in arena/PROTOCOL.md, the workloads in arena/WORKLOADS.md.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

type counts struct{ msgs, units, check int64 }

// cells by workload/variant: a function of the sizes does what is not timed and gives back one repetition of the
// scenario. Add your cells here and to peer.toml.
var cells = map[string]func(size map[string]int64) func() counts{
	"counter/send": counterSend,
}

type object map[string]interface{}

// say writes one line; fields is never empty.
func say(kind string, fields object) {
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	fmt.Printf("{\"arena\":1,\"t\":%q,%s\n", kind, text[1:])
}

func main() {
	system := "@ID@"
	for i, argument := range os.Args {
		if argument == "--system" && i+1 < len(os.Args) {
			system = os.Args[i+1]
		}
	}
	var names []string
	for name := range cells {
		names = append(names, name)
	}
	say("hello", object{
		"system": system, "peer": "@ID@", "version": strings.TrimPrefix(runtime.Version(), "go"),
		"runtime": runtime.Version(), "flags": "", "threads": runtime.GOMAXPROCS(0), "pid": os.Getpid(),
		"clock_ns": clockStep(), "caps": []string{}, "cells": names,
	})
	var current func() counts
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 {
			continue
		}
		if words[0] == "quit" {
			return
		}
		size, texts := map[string]int64{}, map[string]string{}
		for _, word := range words[1:] {
			if key, value, ok := strings.Cut(word, "="); ok {
				texts[key] = value
				size[key], _ = strconv.ParseInt(value, 10, 64)
			}
		}
		refuse := func(why string) {
			say("err", object{"id": size["id"], "kind": "unsupported", "msg": why})
		}
		switch words[0] {
		case "prep":
			current = nil
			make, ok := cells[texts["cell"]]
			if !ok {
				refuse("no cell " + texts["cell"])
				continue
			}
			current = make(size)
			say("ok", object{"id": size["id"]})
		case "run":
			if current == nil {
				refuse("run without prep")
				continue
			}
			say("sample", sample(current, size["id"], size["inner"]))
		case "drop":
			current = nil
			runtime.GC()
			say("ok", object{"id": size["id"]})
		case "ping":
			say("ok", object{"id": size["id"]})
		default:
			refuse("no command " + words[0])
		}
	}
}

func sample(once func() counts, id, inner int64) object {
	var sum counts
	begin := time.Now()
	for i := int64(0); i < inner; i++ {
		c := once()
		sum.msgs, sum.units, sum.check = sum.msgs+c.msgs, sum.units+c.units, sum.check+c.check
	}
	ns := time.Since(begin).Nanoseconds()
	return object{
		"id": id, "ns": ns, "inner": inner,
		"msgs": sum.msgs, "units": sum.units, "check": sum.check,
	}
}

// clockStep is the smallest step of the clock, in nanoseconds.
func clockStep() int64 {
	least := int64(time.Second)
	for last, steps := time.Now(), 0; steps < 100; {
		now := time.Now()
		if step := now.Sub(last).Nanoseconds(); step > 0 {
			steps++
			if step < least {
				least = step
			}
		}
		last = now
	}
	return least
}
