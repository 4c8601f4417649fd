// Package lab runs a stack through an outage in virtual time, before production does: the
// real policy values against a modelled server, thousands of clients and minutes of
// outage in seconds.
//
//	res, err := lab.Run(lab.Scenario{
//		Duration: 3 * time.Minute,
//		Clients:  lab.Clients{Processes: 50, Rate: 1000},
//		Server:   lab.Server{Workers: 75, Service: lab.Exp(50 * time.Millisecond)},
//		Faults:   []lab.Fault{{Kind: lab.BlackHole, From: 30 * time.Second, To: time.Minute}},
//	}, func(*lab.Env) *stoic.Pipeline { return payments.NewStack() })
//
// The result has the amplification, success, goodput, latencies, the time to recover, the
// worst 10 ms at the server and what the breakers did, of the whole run, of the fault, and
// as a series. [Run] is the same in a test, an example, a benchmark and a program.
//
// # Time
//
// A run happens in a bubble of testing/synctest: every clock in it is virtual, those
// inside gobreaker and x/time too. So nothing in it may wait for the world outside: a
// socket, a file, a goroutine that is not of the run. Make the stack in the function that
// Run is given, not before. A context, a channel or a timer of the outside must not come
// in.
//
// # Repeatable
//
// The same scenario, seed and stack give the same result, byte for byte, on any number of
// processors: no two things of different requests happen at the same instant (they are
// moved by nanoseconds), and all random numbers come from the seed. Request n draws the
// same numbers in every stack, so stacks are compared under the same traffic. Retries and
// rate limits of this module wait and draw by the lab of themselves. A policy or an
// operation of yours that waits should do it by [Env.Sleep] or [Call.Sleep], and draw by
// [Env.Rand] or [Call.Float64]. [Result].Ties counts where the order was left to chance.
//
// # The server
//
// [Server] is workers that take calls from one queue, first come first served. What
// becomes of a call is computed when it arrives. Calls abandoned by a deadline are done
// all the same, dropped or cut, as the server is told; a call abandoned by a cancel is
// done.
package lab
