package deadline_test

import (
	"context"
	"errors"
	"sync"
	"time"
)

// group is what errgroup is: the first error cancels the others, with itself as cause.
type group struct {
	wg     sync.WaitGroup
	once   sync.Once
	err    error
	cancel context.CancelCauseFunc
}

func newGroup(parent context.Context) (*group, context.Context) {
	ctx, cancel := context.WithCancelCause(parent)
	return &group{cancel: cancel}, ctx
}

func (g *group) run(fn func() error) {
	g.wg.Go(func() {
		if err := fn(); err != nil {
			g.once.Do(func() {
				g.err = err
				g.cancel(err)
			})
		}
	})
}

func (g *group) wait() error {
	g.wg.Wait()
	g.cancel(g.err)
	return g.err
}

// groupUses are those from several goroutines.
var groupUses = []use{
	{"errgroup whose member fails", func(parent context.Context, in frame, tr *trace) {
		err := in(parent, time.Second, func(ctx context.Context) error {
			g, ctx := newGroup(ctx)
			for range 3 {
				g.run(func() error {
					<-ctx.Done()
					return context.Cause(ctx)
				})
			}
			g.run(func() error {
				time.Sleep(300 * time.Millisecond)
				return errDown
			})
			err := g.wait()
			tr.state(ctx, "group")
			return err
		})
		tr.add("%v", errors.Is(err, errDown))
	}, []string{"300ms group: done, context canceled, cause down", "300ms true"}},

	{"errgroup that the deadline ends", func(parent context.Context, in frame, tr *trace) {
		err := in(parent, time.Second, func(ctx context.Context) error {
			g, ctx := newGroup(ctx)
			for range 3 {
				g.run(func() error {
					<-ctx.Done()
					return ctx.Err()
				})
			}
			return g.wait()
		})
		tr.add("%v, %v", errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled))
	}, []string{"1s true, false"}},

	{"errgroup that is left behind", func(parent context.Context, in frame, tr *trace) {
		var g *group
		_ = in(parent, time.Second, func(ctx context.Context) error {
			g, ctx = newGroup(ctx)
			g.run(func() error {
				<-ctx.Done()
				return ctx.Err()
			})
			time.Sleep(300 * time.Millisecond)
			return nil
		})
		tr.add("%v", g.wait())
	}, []string{"300ms context canceled"}},

	// For the race detector: nobody has used the context before.
	{"concurrent first use", func(parent context.Context, in frame, tr *trace) {
		_ = in(parent, time.Second, func(ctx context.Context) error {
			var wg sync.WaitGroup
			var mu sync.Mutex
			seen := map[error]int{}
			saw := func(err error) {
				mu.Lock()
				defer mu.Unlock()
				seen[err]++
			}
			for range 8 {
				wg.Go(func() { <-ctx.Done(); saw(ctx.Err()) })
				wg.Go(func() {
					child, cancel := context.WithCancel(ctx)
					defer cancel()
					<-child.Done()
					saw(context.Cause(child))
				})
				wg.Go(func() {
					ended := make(chan struct{})
					context.AfterFunc(ctx, func() { close(ended) })
					<-ended
					saw(context.Cause(ctx))
				})
				wg.Go(func() {
					_, _ = ctx.Value(key{}), ctx.Err()
					child, cancel := context.WithTimeout(context.WithValue(ctx, key{}, "own"), time.Hour)
					defer cancel()
					<-child.Done()
					saw(child.Err())
				})
			}
			wg.Wait()
			tr.add("%d looks, %d at the deadline", 4*8, seen[context.DeadlineExceeded])
			return nil
		})
	}, []string{"1s 32 looks, 32 at the deadline"}},

	{"concurrent first use at the return", func(parent context.Context, in frame, tr *trace) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		seen := map[error]int{}
		saw := func(err error) {
			mu.Lock()
			defer mu.Unlock()
			seen[err]++
		}
		for range 100 {
			_ = in(parent, time.Second, func(ctx context.Context) error {
				for range 4 {
					wg.Go(func() { <-ctx.Done(); saw(ctx.Err()) })
					wg.Go(func() {
						child, cancel := context.WithTimeout(ctx, time.Hour)
						defer cancel()
						<-child.Done()
						saw(context.Cause(child))
					})
				}
				return nil // while they begin
			})
		}
		wg.Wait()
		tr.add("%d looks, %d cancelled", 100*8, seen[context.Canceled])
	}, []string{"0s 800 looks, 800 cancelled"}},
}
