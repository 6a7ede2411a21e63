package history_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"ovn-bgp-agent/netns/journal/history"
)

func appendInt(l *history.Log[int], n int) {
	l.Append(func(int) int { return n })
}

func TestSinceReturnsWhatFollowsTheMark(t *testing.T) {
	l := history.New[int]()
	appendInt(l, 10)
	mark := l.Now()
	if got := l.Since(mark); len(got) != 0 {
		t.Fatalf("Since(now) = %v, want nothing", got)
	}
	appendInt(l, 20)
	if got := l.Since(mark); len(got) != 1 || got[0] != 20 {
		t.Errorf("Since(mark) = %v, want [20]", got)
	}
	if got := l.Since(history.Mark{}); len(got) != 2 {
		t.Errorf("Since(zero) = %v, want both items", got)
	}
}

func TestSequenceNumbersHaveNoGaps(t *testing.T) {
	l := history.New[int]()
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range 250 {
				l.Append(func(seq int) int { return seq })
			}
		})
	}
	writers.Wait()
	for i, seq := range l.Since(history.Mark{}) {
		if i != seq {
			t.Fatalf("item %d has sequence number %d", i, seq)
		}
	}
}

func TestWaitForIsWokenByAppend(t *testing.T) {
	l := history.New[int]()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	go appendInt(l, 1)
	if err := l.WaitFor(ctx, func() bool { return l.Now().Seq == 1 }); err != nil {
		t.Fatal(err)
	}
}

func TestWaitForEndsWithTheContext(t *testing.T) {
	l := history.New[int]()
	cause := errors.New("gave up")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := l.WaitFor(ctx, func() bool { return false }); !errors.Is(err, cause) {
		t.Errorf("WaitFor = %v, want %v", err, cause)
	}
}
