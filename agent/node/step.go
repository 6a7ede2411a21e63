package node

// Op says what a [Step] does to its object.
type Op int

const (
	// Make adds the object, or gives it the wanted value.
	Make Op = iota
	// Remove takes the object away; an absent one is no error.
	Remove
)

// String is the operation's name in logs.
func (o Op) String() string {
	if o == Remove {
		return "remove"
	}
	return "make"
}

// Owner names who wants an object: the base wiring or one exposure.
type Owner string

// Step is one change of one object.
type Step struct {
	Op     Op
	Key    Key
	Value  Value // Make: the wanted value
	Old    Value // what is there now; nil when the object is absent
	Owners []Owner
}
