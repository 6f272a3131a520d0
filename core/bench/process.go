package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a program that serves while it is measured.
type process struct {
	name string
	cmd  *exec.Cmd
	at   map[string]string // what it said about where it serves
	done chan struct{}

	mu  sync.Mutex
	log bytes.Buffer
}

// patience is how long a program may take until it serves.
const patience = 5 * time.Minute

// start starts a program and waits until it writes a line that ready understands.
func start(
	ctx context.Context, name string, environ []string, ready func(
		line []byte) map[string]string, path string,
	args ...string,
) (*process, error) {
	p := &process{
		name: name, done: make(chan struct{}),
		cmd: exec.CommandContext(ctx, path, args...), // killed when the run is interrupted
	}
	p.cmd.Env = environ
	p.cmd.SysProcAttr = withParent()
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdout, p.cmd.Stderr = write, write
	err = p.cmd.Start()
	_ = write.Close()
	if err != nil {
		_ = read.Close()
		return nil, err
	}
	served := make(chan map[string]string, 1)
	go func() {
		p.read(read, ready, served)
		_ = read.Close()
		_ = p.cmd.Wait()
		close(p.done)
	}()
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case p.at = <-served:
		return p, nil
	case <-p.done:
		return nil, fmt.Errorf("%s ended:\n%s", name, p.said())
	case <-patient.Done():
		p.kill()
		return nil, fmt.Errorf("%s did not serve: %w\n%s", name, patient.Err(), p.said())
	}
}

// read reads what the program writes. It keeps the first part, in which errors of the start are.
func (p *process) read(from io.Reader, ready func([]byte) map[string]string,
	served chan<- map[string]string) {
	const kept = 64 << 10
	lines := bufio.NewReader(from)
	waiting := true
	for {
		line, err := lines.ReadSlice('\n')
		if waiting {
			if at := ready(line); at != nil {
				served <- at
				waiting = false
			}
		}
		p.mu.Lock()
		if p.log.Len() < kept {
			p.log.Write(line)
		}
		p.mu.Unlock()
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// stop ends the program as an operator does, so that it can put its things away.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(time.Minute):
		p.kill()
	}
}

// peakMemory returns the most memory that the process has had at a time (proc(5), VmHWM).
func (p *process) peakMemory() (bytes int64, err error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid()))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")),
				10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("the system tells no peak of memory")
}

// part is a program that this binary is, too: each part of a measurement is a process of its own.
func part(ctx context.Context, name string, args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return start(ctx, name, os.Environ(), partReady, self, append([]string{name}, args...)...)
}

// sayReady tells the parent where a part serves.
func sayReady(to io.Writer, at map[string]string) error { return json.NewEncoder(to).Encode(at) }

func partReady(line []byte) map[string]string {
	at := map[string]string{}
	if json.Unmarshal(line, &at) != nil {
		return nil
	}
	return at
}

// gatewayReady understands the line of the gateway's log that says where it serves.
func gatewayReady(line []byte) map[string]string {
	var said struct{ Msg, API, Ops string }
	if json.Unmarshal(line, &said) != nil || said.Msg != "the gateway is ready" {
		return nil
	}
	return map[string]string{"api": strings.TrimPrefix(said.API, "http://"),
		"ops": strings.TrimPrefix(said.Ops, "http://")}
}
