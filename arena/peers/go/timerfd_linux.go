package main

import (
	"os"
	"syscall"
	"time"
	"unsafe"
)

// exactTimer wakes its goroutine through the poller, as a socket would. The timers of the runtime round up to the
// millisecond that epoll_wait takes when nothing else goes on.
type exactTimer struct{ file *os.File }

const clockMonotonic = 1

func newExactTimer() (*exactTimer, error) {
	fd, _, errno := syscall.Syscall(syscall.SYS_TIMERFD_CREATE, clockMonotonic,
		syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errno != 0 {
		return nil, os.NewSyscallError("timerfd_create", errno)
	}
	return &exactTimer{os.NewFile(fd, "timerfd")}, nil
}

func (t *exactTimer) sleep(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	setting := [2]syscall.Timespec{{}, syscall.NsecToTimespec(int64(d))} // interval, value
	_, _, errno := syscall.Syscall6(syscall.SYS_TIMERFD_SETTIME, t.fd(), 0,
		uintptr(unsafe.Pointer(&setting)), 0, 0, 0)
	if errno != 0 {
		return os.NewSyscallError("timerfd_settime", errno)
	}
	var expirations [8]byte
	_, err := t.file.Read(expirations[:])
	return err
}

// fd asks without the side effect of File.Fd, which would make the descriptor block.
func (t *exactTimer) fd() (fd uintptr) {
	if raw, err := t.file.SyscallConn(); err == nil {
		raw.Control(func(f uintptr) { fd = f })
	}
	return fd
}

func (t *exactTimer) close() { t.file.Close() }
