package experiments

import (
	"context"
	"errors"
	"sync"

	"github.com/stoic-go/stoic"
)

// errEmpty matches a retry that a bucket refused.
var errEmpty = errors.New("experiments: bucket empty")

// bucket is a retry budget of the kind that most SDKs have: tokens, in thousandths.
// Package budget has a window instead; the published figures are about buckets.
type bucket struct {
	most    int64 // capacity, and what it has at first
	request int64 // what a request puts in when it starts
	success int64 // what one puts in that succeeds
	failure int64 // what an attempt takes that failed; see counted
	cost    int64 // what a retry takes
	atLeast int64 // what must be in for a retry

	mu   sync.Mutex
	have int64
	made bool
}

var _ stoic.Budget = (*bucket)(nil)

func (b *bucket) add(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fill()
	b.have = max(0, min(b.have+n, b.most))
}

// fill makes it full at first. mu is held.
func (b *bucket) fill() {
	if !b.made {
		b.made, b.have = true, b.most
	}
}

func (b *bucket) Run(ctx context.Context, next stoic.Next) error {
	b.add(b.request)
	err := next.Do(ctx)
	if err == nil {
		b.add(b.success)
	}
	return err
}

func (b *bucket) Reserve() (stoic.Ticket, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fill()
	if b.have < b.atLeast || b.have < b.cost {
		return 0, &stoic.Rejection{Policy: stoic.KindBudget, Reason: "bucket empty", Err: errEmpty, Type: "budget_exhausted"}
	}
	b.have -= b.cost
	return 0, nil
}

func (b *bucket) Refund(stoic.Ticket) { b.add(b.cost) }

func (b *bucket) Describe() stoic.Description { return stoic.Description{Kind: stoic.KindBudget} }

// counted is a layer inside the retry that tells the bucket of attempts that failed.
func (b *bucket) counted() stoic.Policy {
	return stoic.PolicyFunc("count failures", func(ctx context.Context, next stoic.Next) error {
		err := next.Do(ctx)
		if err != nil {
			b.add(-b.failure)
		}
		return err
	})
}

// token is one token of a bucket.
const token = 1000

// tenPercent lets one retry go for ten requests, and ten at first.
func tenPercent() *bucket { return &bucket{most: 10 * token, request: token / 10, cost: token} }

// adaptiveProgram is the bucket of Brooker's simulator, adaptiveText that of the text
// around it.
func adaptiveProgram() *bucket {
	return &bucket{most: 5 * token, request: token / 10, cost: token, atLeast: token + 1}
}

func adaptiveText() *bucket { return &bucket{most: 5 * token, success: token / 10, cost: token} }

// grpcThrottle is retryThrottling of gRPC: retries while more than half of the tokens are
// there.
func grpcThrottle() *bucket {
	return &bucket{most: 10 * token, success: token / 10, failure: token, atLeast: 5*token + 1}
}

// awsQuota is the retry quota of the AWS SDKs, without the refunds of an outage that has
// none.
func awsQuota() *bucket { return &bucket{most: 500 * token, success: token, cost: 5 * token} }

// retryBreaker is Brooker's breaker on retries only: they are sent while at most a tenth
// of the requests since the start had a failed attempt.
type retryBreaker struct {
	mu              sync.Mutex
	calls, failures int
}

var _ stoic.Budget = (*retryBreaker)(nil)

func (b *retryBreaker) Run(ctx context.Context, next stoic.Next) error {
	b.mu.Lock()
	b.calls++
	b.mu.Unlock()
	return next.Do(ctx)
}

func (b *retryBreaker) Reserve() (stoic.Ticket, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures*10 > b.calls {
		return 0, &stoic.Rejection{Policy: stoic.KindBudget, Reason: "too many failures", Err: errEmpty, Type: "budget_exhausted"}
	}
	return 0, nil
}

func (b *retryBreaker) Refund(stoic.Ticket) {}

func (b *retryBreaker) Describe() stoic.Description {
	return stoic.Description{Kind: stoic.KindBudget}
}

func (b *retryBreaker) counted() stoic.Policy {
	return stoic.PolicyFunc("count failures", func(ctx context.Context, next stoic.Next) error {
		err := next.Do(ctx)
		if err != nil {
			b.mu.Lock()
			b.failures++
			b.mu.Unlock()
		}
		return err
	})
}
