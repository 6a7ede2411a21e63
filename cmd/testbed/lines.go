package main

import (
	"bytes"
	"io"
	"sync"
)

// lineWriter passes whole lines on with a prefix, so that jobs side by side do not mix within a line. It may be written by
// several goroutines.
type lineWriter struct {
	to     io.Writer
	lock   *sync.Mutex // shared by all writers of one destination
	prefix string
	rest   []byte
}

func (l *lineWriter) Write(p []byte) (int, error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.rest = append(l.rest, p...)
	for {
		i := bytes.IndexByte(l.rest, '\n')
		if i < 0 {
			return len(p), nil
		}
		if _, err := l.to.Write(append([]byte(l.prefix), l.rest[:i+1]...)); err != nil {
			return 0, err
		}
		l.rest = l.rest[i+1:]
	}
}

// flush ends an unfinished last line.
func (l *lineWriter) flush() {
	if len(l.rest) > 0 {
		_, _ = l.Write([]byte("\n"))
	}
}
