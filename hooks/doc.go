// Package hooks is how logging, metrics and tracing see what a stack does.
//
// A [Hook] is put into a stack with stoic.Observe; everything inside that layer
// reports to it. It is told when a call begins and ends, when each attempt of a
// retry begins and ends, and of every decision in between as an [Event].
//
//   - [Nop] is embedded by hooks that need only some of the methods.
//   - [Join] makes one hook of several.
//   - [OnEvent] makes a hook of a function that wants events only.
//   - [Slog] writes to a log/slog logger.
//
// Package hookstest has a recorder for tests and a conformance test for authors
// of hooks.
//
// A stack without a hook pays nothing: no timestamps, no allocations.
package hooks
