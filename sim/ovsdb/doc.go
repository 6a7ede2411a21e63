// Package ovsdb serves OVSDB databases (RFC 7047 and the extensions of
// ovsdb-server(7)) for tests: from memory, or by a real ovsdb-server behind
// the same Server interface, with a Proxy for faults in front of either.
//
// The memory server is an implementation of its own. Of libovsdb it uses only
// the types that name operations and results in Go, so that an error of the
// libovsdb client it serves is not hidden by the same error here. A comparison
// test plays the same transactions and monitor sessions against it and the
// real ovsdb-server.
//
// Two orders are guaranteed to every client. The updates of a transaction are
// queued to each client before the committer gets its reply, and everything
// sent on one connection keeps its order; so an echo answered after a
// transaction is behind that transaction's updates. A client that does not
// read never delays another.
package ovsdb
