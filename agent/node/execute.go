package node

import (
	"errors"
	"net/netip"
)

// ErrSkipped is wrapped by the result of a step that was not tried because one
// that it depends on failed.
var ErrSkipped = errors.New("skipped")

// Result is what became of a [Step]; Err is nil when it was applied.
type Result struct {
	Step Step
	Err  error
}

// Execute applies steps in the order of [Diff] and returns a result for each. A
// step that fails stops only what depends on it:
//   - an announcement is made only if no step of at least one of its owners failed;
//   - what serves a prefix whose withdrawal failed is not taken away.
func Execute(steps []Step, apply func(Step) error) []Result {
	run := execution{failed: map[Owner]error{}, announced: map[netip.Prefix]error{}}
	results := make([]Result, len(steps))
	for i, step := range steps {
		err := run.obstacle(step)
		if err == nil {
			err = apply(step)
			run.note(step, err)
		}
		results[i] = Result{step, err}
	}
	return results
}

type execution struct {
	failed    map[Owner]error        // owners of a failed step
	announced map[netip.Prefix]error // prefixes whose withdrawal failed
}

func (e *execution) obstacle(step Step) error {
	switch step.phase() {
	case phaseAnnounce:
		var cause error
		for _, owner := range step.Owners {
			err, failed := e.failed[owner]
			if !failed {
				return nil
			}
			cause = err
		}
		if cause != nil {
			return errors.Join(ErrSkipped, cause)
		}
	case phaseUnwire:
		if err, failed := e.announced[step.Key.Subject()]; failed {
			return errors.Join(ErrSkipped, err)
		}
	}
	return nil
}

func (e *execution) note(step Step, err error) {
	if err == nil {
		return
	}
	if step.phase() == phaseWithdraw {
		e.announced[step.Key.Subject()] = err
	}
	for _, owner := range step.Owners {
		if _, known := e.failed[owner]; !known {
			e.failed[owner] = err
		}
	}
}
