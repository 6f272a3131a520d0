package main

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// processTime returns the processor time that a process has used, to the nanosecond. /proc/PID/stat counts in
// steps of 10 ms, which is as much as a hundred requests take.
func processTime(pid int) (time.Duration, error) {
	// The clock of another process: clock_getcpuclockid(3) computes its id in this way.
	const perProcessClock = 2 // CPUCLOCK_SCHED in Linux's include/linux/posix-timers_types.h
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|perProcessClock), &t); err != nil {
		return 0, err
	}
	return time.Duration(t.Nano()), nil
}

// preciseTimers lets sleeps of this thread end on time. Linux may otherwise add 50 µs (prctl(2),
// PR_SET_TIMERSLACK).
func preciseTimers() {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // without it, sleeps are less precise
}

// sleep blocks the thread. time.Sleep waits in epoll_wait(2), which knows only milliseconds.
func sleep(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&t, nil) // a signal may end it early; the caller looks at the clock again
}

// withParent ends a program with this one, even if this one is killed.
func withParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
