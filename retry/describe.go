package retry

import (
	"fmt"
	"math"

	"github.com/stoic-go/stoic"
)

// Describe implements stoic.Describer.
func (r *Retry) Describe() stoic.Description {
	var attempts any = r.maxAttempts
	if r.maxAttempts == math.MaxInt {
		attempts = "unlimited"
	}
	params := []stoic.Param{{Name: "attempts", Value: attempts}}
	if j, ok := r.backoff.(jittered); ok {
		params = append(params,
			stoic.Param{Name: "backoff", Value: j.kind.String()},
			stoic.Param{Name: "base", Value: j.base},
			stoic.Param{Name: "max", Value: j.ceiling})
	} else {
		params = append(params, stoic.Param{Name: "backoff", Value: fmt.Sprintf("%T", r.backoff)})
	}
	params = append(params,
		stoic.Param{Name: "max retry after", Value: r.maxRetryAfter},
		stoic.Param{Name: "allow nested", Value: r.allowNested})
	return stoic.Description{Kind: stoic.KindRetry, Params: params}
}

// Validate implements stoic.Validator.
func (r *Retry) Validate() error {
	if !r.made {
		return &stoic.InvalidError{Field: "Retry{}", Reason: "must be made by retry.New"}
	}
	return r.problems.Err()
}
