//go:build !linux

package main

import "time"

type exactTimer struct{}

func newExactTimer() (*exactTimer, error) { return &exactTimer{}, nil }

func (*exactTimer) sleep(d time.Duration) error {
	time.Sleep(d)
	return nil
}

func (*exactTimer) close() {}
