//go:build race

package lab_test

const raceEnabled = true
