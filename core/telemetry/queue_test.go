package telemetry

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestALogIsWrittenInTheBackground(t *testing.T) {
	t.Parallel()
	queue := func(t *testing.T) (*Queue, *bufio.Scanner, *io.PipeReader) {
		t.Helper()
		r, w := io.Pipe()
		q, err := NewQueue(w, LogOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return q, bufio.NewScanner(r), r
	}
	t.Run("what finds no room is lost, and counted once the log is read", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q, lines, _ := queue(t)
			for i := range queuedLines + 3 {
				fmt.Fprintln(q, i)
				synctest.Wait() // the first line is not in the queue, but on its way
			}
			var all []string
			go func() {
				for lines.Scan() {
					all = append(all, lines.Text())
				}
			}()
			synctest.Wait()
			if len(all) != queuedLines+2 || all[0] != "0" || all[2] != "1" || !strings.Contains(all[1], `"lines":2`) {
				t.Errorf("%d lines, that begin with %q", len(all), all[:min(3, len(all))])
			}
			q.Close()
			_ = q.to.(io.Closer).Close()
		})
	})
	t.Run("what waits is written before the end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q, lines, _ := queue(t)
			for i := range 3 {
				fmt.Fprintln(q, i)
			}
			read := make(chan int)
			go func() {
				n := 0
				for lines.Scan() {
					n++
				}
				read <- n
			}()
			q.Close()
			_ = q.to.(io.Closer).Close()
			if n := <-read; n != 3 {
				t.Errorf("%d lines are written", n)
			}
		})
	})
	t.Run("the end waits a second for a reader", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q, _, unread := queue(t)
			fmt.Fprintln(q, "nobody reads this")
			began := time.Now()
			q.Close()
			if took := time.Since(began); took != flushWait {
				t.Errorf("it took %s", took)
			}
			_ = unread.Close()
		})
	})
}
