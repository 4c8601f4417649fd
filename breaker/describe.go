package breaker

import "github.com/stoic-go/stoic"

// Describe implements stoic.Describer.
func (b *Breaker) Describe() stoic.Description {
	cfg := &b.config
	var params []stoic.Param
	if cfg.rate != 0 {
		params = append(params,
			stoic.Param{Name: "failure rate", Value: cfg.rate},
			stoic.Param{Name: "min calls", Value: cfg.minCalls},
			stoic.Param{Name: "window", Value: cfg.window})
	}
	if cfg.lastRate != 0 {
		params = append(params,
			stoic.Param{Name: "failure rate of last", Value: cfg.lastRate},
			stoic.Param{Name: "last calls", Value: cfg.lastCalls})
	}
	if cfg.consecutive != 0 {
		params = append(params, stoic.Param{Name: "consecutive failures", Value: cfg.consecutive})
	}
	params = append(params,
		stoic.Param{Name: "open for", Value: cfg.openFor},
		stoic.Param{Name: "probes", Value: cfg.probes},
		stoic.Param{Name: "probe timeout", Value: cfg.probeTimeout})
	if cfg.slow != 0 {
		params = append(params, stoic.Param{Name: "slow call", Value: cfg.slow})
	}
	return stoic.Description{Kind: stoic.KindBreaker, Name: b.name, Params: params, Refusal: b.rejectOpen(0)}
}

// Identity implements stoic.Identifier.
func (b *Breaker) Identity() any { return b }

// Validate implements stoic.Validator.
func (b *Breaker) Validate() error {
	if !b.made {
		return &stoic.InvalidError{Field: "Breaker{}", Reason: "must be made by breaker.New"}
	}
	return b.config.problems.Err()
}
