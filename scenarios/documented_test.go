package scenarios

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2"
)

// SCENARIOS.md describes exactly the scenarios that there are, and every step of
// theirs in the words of the code.
func TestScenariosAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../SCENARIOS.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented, played []string
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "### "); ok {
			documented = append(documented, name)
		}
	}
	for _, spec := range ginkgo.PreviewSpecs("scenarios").SpecReports {
		played = append(played, spec.FullText())
	}
	for _, name := range played {
		if !slices.Contains(documented, name) {
			t.Errorf("SCENARIOS.md has no entry %q", name)
		}
	}
	for _, name := range documented {
		if !slices.Contains(played, name) {
			t.Errorf("SCENARIOS.md has an entry %q, which no scenario has", name)
		}
	}
	for _, entry := range strings.Split(string(text), "\n### ")[1:] {
		name, body, _ := strings.Cut(entry, "\n")
		for _, part := range []string{"Context:", "Steps:", "Asserted:"} {
			if !strings.Contains(body, part) {
				t.Errorf("the entry %q has no %q", name, part)
			}
		}
	}
	for _, step := range steps(t) {
		if !strings.Contains(string(text), step) {
			t.Errorf("SCENARIOS.md does not mention the step %q", step)
		}
	}
}

// steps are the literal parts of all steps' texts.
func steps(t *testing.T) []string {
	var found []string
	for _, pattern := range []string{"*.go", "defects/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) < 2 {
					return true
				}
				if method, ok := call.Fun.(*ast.SelectorExpr); ok && (method.Sel.Name == "Step" || method.Sel.Name == "StepBroken") {
					found = append(found, literals(call.Args[1])...)
				}
				return true
			})
		}
	}
	return found
}

func literals(e ast.Expr) []string {
	var found []string
	ast.Inspect(e, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil {
				found = append(found, strings.TrimSpace(text))
			}
		}
		return true
	})
	return found
}
