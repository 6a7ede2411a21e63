// Package tiny is a suite that the runner's tests compile and run.
package tiny

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func TestScenarios(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "tiny (suite)")
}

var _ = Describe("scenario 1", func() {
	It("passes (v4|v6)", func() {
		note := os.Getenv("TESTBED_LANE") + " " + os.Getenv("TESTBED_KERNEL") + " " + os.Getenv("TESTBED_AGENT")
		Expect(os.WriteFile(filepath.Join(os.Getenv("TESTBED_OUT"), "note"), []byte(note), 0o644)).To(Succeed())
	})
	It("passes (v4|v6) too", func() { GinkgoWriter.Println("evidence") })
	It("measures", Serial, func() {})
	PIt("is pending", func() {})
})

var _ = Describe("scenario 2", Ordered, func() {
	seen := 0
	It("goes first", func() { seen++ })
	It("goes second", func() { Expect(seen).To(Equal(1)) })
})

var _ = Describe("trouble", func() {
	It("fails", func() { Expect(1).To(Equal(2)) })
	It("dies", func() { os.Exit(3) })
})
