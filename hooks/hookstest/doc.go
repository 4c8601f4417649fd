// Package hookstest helps to test with hooks and to test hooks.
//
//   - A [Recorder] is a hook that remembers what it was told, for tests of
//     policies and stacks. [Recorder.Strings] has one short line for each call
//     of a method, to compare with what is expected.
//   - [TestHook] checks a hook against the contract of [hooks.Hook]. Authors of
//     hooks call it from their tests.
package hookstest
