// Package scenarios plays what happens in an OpenStack cloud with OVN and claims
// what the BGP fabric learns of it. SCENARIOS.md describes each scenario.
package scenarios

import (
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	_ "ovn-bgp-agent/scenarios/defects"
)

func TestScenarios(t *testing.T) {
	gomega.RegisterFailHandler(ginkgo.Fail)
	ginkgo.RunSpecs(t, "scenarios")
}
