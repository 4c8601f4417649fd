// Package experiments holds the reference experiments E1 to E10: published outages and
// storms, run with the real policies of this module, and the figures that must come out.
//
// Each experiment runs scenarios of package lab and compares what comes out with the
// figures, within stated tolerances. The scenarios and stacks are functions, so that a
// program can run one of them alone.
package experiments
