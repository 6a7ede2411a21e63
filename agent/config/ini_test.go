package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDialect has one row for each point in which oslo.config's INI dialect might be
// read otherwise. Each result line is "section/option=value" or "line: reason".
func TestDialect(t *testing.T) {
	tests := []struct {
		name string
		text string
		want []string
	}{
		{"equals sign", "[a]\nx=1\ny = 2\n", []string{"a/x=1", "a/y=2"}},
		{"colon", "[a]\nx: 1\n", []string{"a/x=1"}},
		{"the first separator counts, equals sign", "[a]\nx = tcp:1\n", []string{"a/x=tcp:1"}},
		{"the first separator counts, colon", "[a]\nx: a=b\n", []string{"a/x=a=b"}},
		{"last line without end", "[a]\nx = 1", []string{"a/x=1"}},
		{"lines of other systems", "[a]\r\nx = 1\r\ny = 2\rz = 3\n", []string{"a/x=1", "a/y=2", "a/z=3"}},
		{"no value", "[a]\nx =\n", []string{"a/x="}},
		{"comments at the start of a line", "# c\n[a]\n; c = 1\nx = 1\n#y = 2\n", []string{"a/x=1"}},
		{"# and ; stay in a value", "[a]\nx = 1 # one ; two\n", []string{"a/x=1 # one ; two"}},
		{"continuation", "[a]\nx = 1,\n    2,\n\t3\n", []string{"a/x=1,\n2,\n3"}},
		{"continuation of an empty value", "[a]\nx =\n  1\n", []string{"a/x=\n1"}},
		{"an indented comment continues too", "[a]\nx = 1\n  # c\n", []string{"a/x=1\n# c"}},
		{"an indented assignment continues too", "[a]\nx = 1\n  y = 2\n", []string{"a/x=1\ny = 2"}},
		{"a blank line ends the value", "[a]\nx = 1\n   \n  2\n", []string{"a/x=1", `4: an indented line continues a value, but there is none above "2"`}},
		{"a comment ends the value", "[a]\nx = 1\n# c\n  2\n", []string{"a/x=1", `4: an indented line continues a value, but there is none above "2"`}},
		{"continuation of nothing", "[a]\n  x = 1\n", []string{`2: an indented line continues a value, but there is none above "x = 1"`}},
		{"quotes", "[a]\nx = 'one'\ny = \"two\"\n", []string{"a/x=one", "a/y=two"}},
		{"quotes are stripped once", "[a]\nx = \"'one'\"\n", []string{"a/x='one'"}},
		{"quotes keep blanks", "[a]\nx = \" one \"\n", []string{"a/x= one "}},
		{"unequal quotes stay", "[a]\nx = 'one\"\ny = 'one\n", []string{`a/x='one"`, "a/y='one"}},
		{"a lone quote is stripped", "[a]\nx = '\n", []string{"a/x="}},
		{"quotes of items stay", "[a]\nx = 'a','b'\n", []string{"a/x=a','b"}},
		{"quotes are stripped from the first line only", "[a]\nx = 'one'\n  'two'\n", []string{"a/x=one\n'two'"}},
		{"blanks in keys", "[a]\nlong key = 1\n", []string{"a/long key=1"}},
		{"keys keep their case", "[a]\nbgp_AS = 1\nbgp_as = 2\n", []string{"a/bgp_AS=1", "a/bgp_as=2"}},
		{"sections have no case", "[OVN]\nx = 1\n[ovn]\ny = 2\n", []string{"ovn/x=1", "ovn/y=2"}},
		{"DEFAULT has case", "[DEFAULT]\nx = 1\n[default]\ny = 2\n", []string{"DEFAULT/x=1", "default/y=2"}},
		{"blanks in sections stay", "[ a ]\nx = 1\n", []string{" a /x=1"}},
		{"a section goes on", "[a]\nx = 1\n[b]\nx = 2\n[a]\ny = 3\n", []string{"a/x=1", "b/x=2", "a/y=3"}},
		{"repeated keys are all kept here", "[a]\nx = 1\nx = 2\n", []string{"a/x=1", "a/x=2"}},
		{"percent signs mean nothing", "[a]\nx = %(y)s\n", []string{"a/x=%(y)s"}},
		{"before the first section", "x = 1\n[a]\ny = 2\n", []string{"a/y=2", "1: option x stands before the first section"}},
		{"section without end", "[a\nx = 1\n[b]\ny = 1\n", []string{"b/y=1", `1: a section must end with ]: "[a"`}},
		{"text after a section", "[a] # c\nx = 1\n", []string{`1: a section must end with ]: "[a] # c"`}},
		{"section without name", "[]\nx = 1\n", []string{"1: a section without name"}},
		{"no separator", "[a]\nx\ny = 1\n", []string{"a/y=1", `2: neither = nor : in "x"`}},
		{"no key", "[a]\n= 1\n", []string{`2: no option before "= 1"`}},
		{"not UTF-8", "[a]\nx = \xff\n", []string{"2: not UTF-8 text"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assignments, problems := parseINI("f", 0, test.text)
			var got []string
			for _, a := range assignments {
				got = append(got, fmt.Sprintf("%s/%s=%s", a.section, a.name, a.value))
			}
			for _, p := range problems {
				got = append(got, fmt.Sprintf("%d: %s", p.Line, p.Reason))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzDialect: no text makes the parser fail, and each assignment stands on its line.
func FuzzDialect(f *testing.F) {
	f.Add("[a]\nx = 1\n  2\n# c\n[b\n")
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
		assignments, _ := parseINI("f", 0, text)
		for _, a := range assignments {
			if !strings.HasPrefix(lines[a.line-1], a.name) && !strings.Contains(lines[a.line-1], a.name) {
				t.Errorf("%q does not stand in line %d", a.name, a.line)
			}
		}
	})
}
