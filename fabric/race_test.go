//go:build race

package fabric

// raceDetector tells that the tests run under the race detector.
const raceDetector = true
