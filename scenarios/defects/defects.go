// Package defects plays the defects of the reference agent that operators have
// met. Each scenario is red for an agent that has the defect; the programs of
// package faulty, beneath, show that.
package defects
