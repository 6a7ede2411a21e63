package config

// The sections that have options of the agent.
const (
	defaultSection = "DEFAULT"
	ovnSection     = "ovn"
	localSection   = "local_ovn_cluster"
	agentSection   = "agent"
)

// option is what is known of one option.
type option struct {
	place
	fallback string                      // the default
	optional bool                        // an empty value is the same as none
	set      func(*Config, string) error // checks a value and stores it
	former   []place                     // where it may also stand, deprecated
	idle     string                      // why it has no effect in this agent; empty: it has one
}

// options are all options of the agent and of the libraries that the other agent is
// built of.
func options() []*option {
	var all []*option
	for _, table := range [][]*option{agentOptions(), ovnOptions(), localOptions(), loggingOptions(), ownOptions(), idleOptions()} {
		all = append(all, table...)
	}
	return all
}

// opt is an option whose value goes to a field.
func opt[T any](section, name, fallback string, parse func(string) (T, error), field func(*Config) *T) *option {
	set := func(c *Config, text string) error {
		value, err := parse(text)
		if err == nil {
			*field(c) = value
		}
		return err
	}
	return &option{place: place{section, name}, fallback: fallback, set: set}
}

// unset is an option without default.
func unset[T any](section, name string, parse func(string) (T, error), field func(*Config) *T) *option {
	o := opt(section, name, "", parse, field)
	o.optional = true
	return o
}

// formerly adds a deprecated place.
func (o *option) formerly(section, name string) *option {
	o.former = append(o.former, place{section, name})
	return o
}
