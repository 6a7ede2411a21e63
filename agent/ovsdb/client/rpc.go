package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// message is a JSON-RPC 1.0 request, notification or reply (RFC 7047, section 4).
type message struct {
	Method *string         `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
	ID     json.RawMessage `json:"id"`
}

func (m message) isReply() bool { return m.Method == nil && !null(m.ID) }

// isRequest: an answer is expected.
func (m message) isRequest() bool { return m.Method != nil && !null(m.ID) }

func (m message) answers(id int) bool { return m.isReply() && string(m.ID) == strconv.Itoa(id) }

func null(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// requestError is the server's refusal of a request.
type requestError struct {
	method string
	detail string
}

func (e *requestError) Error() string {
	return fmt.Sprintf("%s: the server answers %s", e.method, e.detail)
}

func (e *requestError) unknownMethod() bool { return strings.Contains(e.detail, "unknown method") }

// wire is a connection with its reader and its writer.
type wire struct {
	conn  net.Conn
	inbox *inbox
	out   chan []byte
	done  chan struct{}
	ended sync.WaitGroup

	epoch time.Time
	heard atomic.Int64 // when the last byte came, since epoch
}

// maxUnsent is how many messages may wait to be written. Ours are few and small:
// a server that takes none of so many does not read at all.
const maxUnsent = 64

// newWire starts reading and writing. It must be closed.
func newWire(conn net.Conn) *wire {
	w := &wire{conn: conn, inbox: newInbox(), out: make(chan []byte, maxUnsent), done: make(chan struct{}), epoch: time.Now()}
	w.ended.Go(w.read)
	w.ended.Go(w.write)
	return w
}

// close ends the connection, its reader and its writer.
func (w *wire) close() {
	close(w.done)
	w.conn.Close()
	w.ended.Wait()
}

// lastHeard is when the last byte came.
func (w *wire) lastHeard() time.Time { return w.epoch.Add(time.Duration(w.heard.Load())) }

// Read notes the arrival of each part of a message: a long download is alive
// while it makes progress.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.conn.Read(p)
	if n > 0 {
		w.heard.Store(int64(time.Since(w.epoch)))
	}
	return n, err
}

func (w *wire) read() {
	decoder := json.NewDecoder(w)
	for {
		var m message
		if err := decoder.Decode(&m); err != nil {
			w.inbox.close(readError(err))
			return
		}
		if !m.isReply() && m.Method == nil {
			w.inbox.close(errors.New("malformed message: neither request nor reply"))
			return
		}
		if !m.isRequest() {
			w.inbox.put(m)
			continue
		}
		if err := w.answer(m); err != nil {
			w.inbox.close(err)
			return
		}
	}
}

func readError(err error) error {
	var network net.Error
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("closed by the server")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("closed by the server in the middle of a message")
	case errors.As(err, &network), errors.Is(err, net.ErrClosed):
		return bare(err)
	}
	return fmt.Errorf("malformed message: %w", err)
}

// answer replies to a request of the server. Of these RFC 7047 knows only echo.
func (w *wire) answer(m message) error {
	reply := map[string]any{"id": m.ID, "result": m.Params, "error": nil}
	if *m.Method != "echo" {
		reply = map[string]any{"id": m.ID, "result": nil, "error": "unknown method"}
	}
	return w.send(reply)
}

// request sends a request.
func (w *wire) request(id int, method string, params any) error {
	return w.send(map[string]any{"id": id, "method": method, "params": params})
}

func (w *wire) send(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("message to the server: %w", err)
	}
	select {
	case w.out <- raw:
		return nil
	default:
		return errors.New("the server takes no messages")
	}
}

func (w *wire) write() {
	for {
		select {
		case raw := <-w.out:
			if _, err := w.conn.Write(raw); err != nil {
				w.inbox.close(bare(err))
				return
			}
		case <-w.done:
			return
		}
	}
}
