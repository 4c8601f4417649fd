package lab

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestDistMeans(t *testing.T) {
	const n = 200_000
	r := rand.New(rand.NewPCG(1, 2))
	for _, d := range []Dist{
		Fixed(time.Second), Exp(time.Second), Uniform(time.Second, 3*time.Second), Normal(time.Second, 200*time.Millisecond),
		Normal(time.Second, 2*time.Second), LogNormal(50*time.Millisecond, time.Second), Erlang(3, time.Second),
		Mix(0.1, Fixed(10*time.Second), Exp(time.Second)),
	} {
		sum, squares := 0.0, 0.0
		for range n {
			x := d.Draw(r).Seconds()
			if x < 0 {
				t.Fatalf("%s drew %v", d, x)
			}
			sum += x
			squares += x * x
		}
		mean := sum / n
		se := math.Sqrt(max(0, squares/n-mean*mean) / n)
		if math.Abs(mean-d.Mean().Seconds()) > 4*se+1e-9 {
			t.Errorf("%s: mean of draws %v ± %v, Mean %v", d, mean, se, d.Mean())
		}
	}
}

func TestLogNormalQuantiles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	d := LogNormal(50*time.Millisecond, time.Second)
	h := hist{fine: fineBins}
	for range 200_000 {
		h.add(d.Draw(r))
	}
	for q, want := range map[float64]time.Duration{0.5: 50 * time.Millisecond, 0.99: time.Second} {
		if got := h.quantile(q); math.Abs(float64(got-want)) > 0.04*float64(want) {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
}

func TestHistogramQuantilesAreWithinABin(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, fine := range []uint{coarseBins, fineBins} {
		h, half := hist{fine: fine}, hist{fine: fine}
		var all []time.Duration
		for i := range 10_000 {
			d := time.Duration(math.Exp(r.Float64()*20) * float64(time.Microsecond)) // 1 µs to 8 min
			all = append(all, d)
			if i%2 == 0 {
				h.add(d)
			} else {
				half.add(d)
			}
		}
		h.merge(&half)
		slices.Sort(all)
		for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 0.999} {
			want := float64(all[int(q*float64(len(all)))])
			if got := float64(h.quantile(q)); math.Abs(got-want) > want*(math.Pow(2, -float64(fine))+0.02)+2000 {
				t.Errorf("%d bins: quantile %v is %v, want %v", 1<<fine, q, got, want)
			}
		}
		if h.quantile(1) != all[len(all)-1] || h.n != 10_000 {
			t.Errorf("the longest is %v of %d, want %v of 10000", h.quantile(1), h.n, all[len(all)-1])
		}
		for i := range 300 {
			low, width := h.bounds(i)
			if h.bin(low) != i || h.bin(low+width-1) != i || h.bin(low+width) != i+1 {
				t.Fatalf("bin %d is from %d, %d wide, but the bins of its ends are %d, %d, %d", i, low, width, h.bin(low), h.bin(low+width-1), h.bin(low+width))
			}
		}
	}
	if empty := (&hist{fine: fineBins}); empty.quantile(0.5) != 0 {
		t.Errorf("quantile of nothing: %v", empty.quantile(0.5))
	}
}

// The number of arrivals is the integral of the rate, evenly spaced where it is constant.
func TestArrivalsFollowTheLoad(t *testing.T) {
	const s = time.Second
	ramp := []LoadPoint{{0, 0}, {10 * s, 100}, {10 * s, 20}, {20 * s, 20}, {20 * s, 0}, {30 * s, 0}, {30 * s, 50}, {40 * s, 0}}
	for _, even := range []bool{true, false} {
		a := newArrivals(&Clients{Load: ramp, Even: even}, rand.New(rand.NewPCG(1, 1)))
		counts := make(map[string]int)
		before := time.Duration(0)
		for t0 := a.next(); t0 < 1000*s; t0 = a.next() {
			if t0 < before {
				t.Fatalf("%v after %v", t0, before)
			}
			before = t0
			switch {
			case t0 < 5*s:
				counts["first half of the ramp"]++
			case t0 < 10*s:
				counts["second half of the ramp"]++
			case t0 < 20*s:
				counts["constant"]++
			case t0 < 30*s:
				counts["nothing"]++
			case t0 < 40*s:
				counts["falling"]++
			default:
				counts["after"]++
			}
		}
		for name, want := range map[string]float64{
			"first half of the ramp": 125, "second half of the ramp": 375, "constant": 200, "nothing": 0, "falling": 250, "after": 0,
		} {
			tolerance := 1.0
			if !even {
				tolerance = 4 * math.Sqrt(want)
			}
			if got := float64(counts[name]); math.Abs(got-want) > tolerance {
				t.Errorf("even %t, %s: %v arrivals, want %v", even, name, got, want)
			}
		}
	}
	a := newArrivals(&Clients{Rate: 4, Even: true}, nil)
	for i := range 5 {
		if got, want := a.next(), time.Duration(i+1)*250*time.Millisecond; got != want {
			t.Errorf("arrival %d at %v, want %v", i, got, want)
		}
	}
}

func TestQueues(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var heap instants
	var q fifo
	var model []time.Duration
	for i := range 5000 {
		switch {
		case r.IntN(3) > 0 || len(model) == 0:
			d := time.Duration(r.IntN(1000))
			heap.add(d)
			model = append(model, d)
		case r.IntN(2) == 0:
			slices.Sort(model)
			if heap[0] != model[0] {
				t.Fatalf("step %d: first is %v, want %v", i, heap[0], model[0])
			}
			heap.removeFirst()
			model = model[1:]
		default:
			slices.Sort(model)
			model[0] = 500
			heap.replaceFirst(500)
		}
	}
	in, out := 0, 0
	for range 5000 {
		if r.IntN(5) > 1 || q.len() == 0 {
			q.add(time.Duration(in))
			in++
			continue
		}
		if got := q.first(); got != time.Duration(out) {
			t.Fatalf("first is %v, want %d", got, out)
		}
		q.removeFirst()
		out++
	}
	if q.len() != in-out {
		t.Errorf("%d in the queue, want %d", q.len(), in-out)
	}
}
