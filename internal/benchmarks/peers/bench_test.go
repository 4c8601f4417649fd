package peers

import "testing"

// BenchmarkPeers is every scenario of every contender, on one goroutine and on as many
// as there are processors. It is for profiles; for ratios use cmd/peers, which lets the
// contenders take turns.
//
//	go test -run '^$' -bench 'Peers/full_stack/stoic$' -cpuprofile cpu.out ./peers
func BenchmarkPeers(b *testing.B) {
	for _, sc := range Scenarios() {
		for _, c := range All() {
			run := sc.Build(c)
			if run == nil {
				continue
			}
			b.Run(sc.Name+"/"+c.Name, func(b *testing.B) {
				b.ReportAllocs()
				ctx, cancel := sc.Parent()
				defer cancel()
				op := sc.NewOp()
				for b.Loop() {
					if err := run(ctx, op); !sc.OK(err) {
						b.Fatal(err)
					}
				}
			})
			b.Run(sc.Name+"/"+c.Name+"/parallel", func(b *testing.B) {
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					ctx, cancel := sc.Parent()
					defer cancel()
					op := sc.NewOp()
					for pb.Next() {
						if err := run(ctx, op); !sc.OK(err) {
							b.Error(err)
							return
						}
					}
				})
			})
		}
	}
}
