package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"ovn-bgp-agent/agent/status"
)

// remote is a client of the agent that the configuration is for.
func (o options) remote() (*status.Client, error) {
	c, _, err := o.load()
	if err != nil {
		return nil, err
	}
	return status.Dial(c.StatusSocket), nil
}

func showStatus(ctx context.Context, o options, out io.Writer) error {
	agent, err := o.remote()
	if err != nil {
		return err
	}
	report, err := agent.Report(ctx)
	if err != nil {
		return err
	}
	if !o.json {
		return report.WriteText(out)
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(report)
}

func syncNow(ctx context.Context, o options, out io.Writer) error {
	agent, err := o.remote()
	if err != nil {
		return err
	}
	result, err := agent.Sync(ctx)
	if err != nil {
		return err
	}
	if len(result.Writes) == 0 {
		fmt.Fprintln(out, "nothing differed, nothing was written")
	}
	for _, kind := range slices.Sorted(maps.Keys(result.Writes)) {
		fmt.Fprintf(out, "%s: %d written\n", kind, result.Writes[kind])
	}
	return nil
}

func settled(ctx context.Context, o options, _ io.Writer) error {
	agent, err := o.remote()
	if err != nil {
		return err
	}
	return agent.Settled(ctx)
}

func confirm(ctx context.Context, o options, _ io.Writer) error {
	agent, err := o.remote()
	if err != nil {
		return err
	}
	return agent.Confirm(ctx)
}
