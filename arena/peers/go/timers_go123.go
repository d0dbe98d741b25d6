//go:build go1.23

// go.mod says 1.19 so that the peer builds with Debian's Go, and a module that old would get
// the timers of that time. This line asks for those that every module of today has, which
// makes `select` with a timeout about twice as fast.
//
//go:debug asynctimerchan=0

package main
