// Package client keeps a replica of some rows of an OVSDB server (RFC 7047,
// ovsdb-server(7)) and hands out what changed, one server transaction at a time.
//
// # What it promises
//
// Every connection begins with one complete download, delivered as one [Change]
// with Complete set. After it, one update notification is one [Change]: all rows
// of all tables that a transaction touched, each row whole. Nothing is delivered
// of a download that breaks off, nor between a loss and the next download.
//
// # Why not libovsdb's client
//
// That client reports rows, not transactions; its event buffer drops events when
// it is full; and a reconnect empties its cache without reporting it. Only its
// notation ([libovsdb.Row], [libovsdb.OvsSet], [libovsdb.Condition] …) is used
// here. Values are decoded here too, by the server's schema: integers stay exact,
// the same column always has the same Go type, and a malformed value is an error,
// where libovsdb's decoders panic.
//
// # Why not cenkalti/rpc2
//
// It runs each notification on a goroutine of its own, or, when told not to, on
// the reader, which then cannot answer the server's echo while a change is being
// delivered; and replies overtake notifications. Here one goroutine reads, answers
// echoes and fills an unbounded inbox; one writes; and the goroutine of
// [Client.Run] empties the inbox in order. That order is what makes
// [Client.Barrier] a fence.
//
// # Values
//
// A row holds every monitored column that the server has. By the column's type in
// the server's schema: integer → int, real → float64, boolean → bool,
// string → string, uuid → [libovsdb.UUID]; any column that is not exactly one
// atom, optional ones included, → [libovsdb.OvsSet] in ascending order; a map →
// [libovsdb.OvsMap]. Delivered rows are never changed afterwards.
package client
