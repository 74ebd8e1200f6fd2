// Package conformance measures what the seeds, the pages that the algorithms come from, say about
// cost and behaviour, and what the books' assumptions cost when they break. Its test writes
// docs/evidence/conformance.md, docs/evidence/counterexamples.md and testdata/figures.txt from what
// the real code does, and fails when they are stale:
// go test ./internal/sim/scenario/conformance -rewrite.
package conformance
