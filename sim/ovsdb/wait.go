package ovsdb

import (
	"time"
)

// waitOp is a "wait" that does not hold yet.
type waitOp struct {
	forever bool
	timeout time.Duration // counted from the start of the transaction
}

func (w *waitOp) expiredError() *dbError {
	if w.timeout == 0 {
		return newDBError("timed out", "\"where\" clause test failed")
	}
	return newDBError("timed out", "\"wait\" timed out after %d ms", w.timeout.Milliseconds())
}

// wait tests whether the matching rows, as a set of the named columns' values,
// are (==) or are not (!=) the given rows (RFC 7047 section 5.2.6).
func (tx *transaction) wait(o *operation) (any, *waitOp, *dbError) {
	w := &waitOp{forever: true}
	if v, ok := o.optional("timeout"); ok {
		ms, isInt := integerOf(v)
		if !isInt || ms < 0 {
			return nil, nil, o.fail("Type mismatch for member 'timeout'.")
		}
		w.forever, w.timeout = false, time.Duration(ms)*time.Millisecond
	}
	t, rows, _, err := tx.query(o)
	until, err2 := o.text("until")
	expected, err3 := o.array("rows")
	var columns []string
	var err4 *dbError
	if err == nil {
		columns, err4 = o.columns(t)
	}
	if err := o.finish(err, err2, err3, err4); err != nil {
		return nil, nil, err
	}
	if until != "==" && until != "!=" {
		return nil, nil, syntaxError(o.source, "\"until\" must be \"==\" or \"!=\"")
	}
	same, err := tx.sameRows(t, rows, columns, expected)
	if err != nil {
		return nil, nil, err
	}
	if same == (until == "==") {
		return map[string]any{}, nil, nil
	}
	return nil, w, nil
}

func (tx *transaction) sameRows(t *tableSchema, rows []*row, columns []string, expected []any) (bool, *dbError) {
	if columns == nil {
		columns = append([]string{"_uuid", "_version"}, t.names...)
	}
	have := map[string]bool{}
	for _, r := range rows {
		have[indexKey(r, columns)] = true
	}
	want := map[string]bool{}
	for _, v := range expected {
		r := t.newRow(zeroUUID)
		r.version = zeroUUID
		if err := tx.fillExpected(t, r, v); err != nil {
			return false, err
		}
		want[indexKey(r, columns)] = true
	}
	if len(have) != len(want) {
		return false, nil
	}
	for k := range want {
		if !have[k] {
			return false, nil
		}
	}
	return true, nil
}

// fillExpected is fill, with _uuid and _version taken from v too.
func (tx *transaction) fillExpected(t *tableSchema, r *row, v any) *dbError {
	if _, err := tx.fill(t, r, v); err != nil {
		return err
	}
	values := v.(map[string]any) // fill has checked it
	for name, into := range map[string]*uuidAtom{"_uuid": &r.uuid, "_version": &r.version} {
		if given, ok := values[name]; ok {
			id, err := parseUUID(given, tx.syms)
			if err != nil {
				return err
			}
			*into = id.(uuidAtom)
		}
	}
	return nil
}

// timedOut replaces the unfinished result of a wait by the timeout error.
func (out *outcome) timedOut() {
	err := out.wait.expiredError()
	out.wait, out.failed = nil, true
	for i, r := range out.results {
		if r == nil {
			out.results[i] = err.json()
			return
		}
	}
}
