//go:build race

package ovsdb

const raceDetector = true
