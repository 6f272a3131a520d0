//go:build !linux

package main

import (
	"errors"
	"syscall"
	"time"
)

func processTime(int) (time.Duration, error) {
	return 0, errors.New("the processor time of another process is read on Linux only")
}

func preciseTimers() {}

func sleep(d time.Duration) { time.Sleep(d) }

func withParent() *syscall.SysProcAttr { return nil }
