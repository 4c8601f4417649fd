package otelhooks

import (
	"maps"
	"sync"
	"sync/atomic"
)

// cache is a small map that is read on every call and written a few times in the life of
// a program: readers take no lock.
type cache[K comparable, V any] struct {
	m  atomic.Pointer[map[K]V]
	mu sync.Mutex // of writers
}

func (c *cache[K, V]) get(key K) (V, bool) {
	if m := c.m.Load(); m != nil {
		v, ok := (*m)[key]
		return v, ok
	}
	var none V
	return none, false
}

func (c *cache[K, V]) full(limit int) bool {
	m := c.m.Load()
	return m != nil && len(*m) >= limit
}

// add returns the value of key, which made makes if there is none yet. With limit
// entries there is no place for another: then ok is false.
func (c *cache[K, V]) add(key K, limit int, made func() V) (v V, ok bool) {
	if c.full(limit) {
		return v, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if v, ok := c.get(key); ok {
		return v, true
	}
	if c.full(limit) {
		return v, false
	}
	next := make(map[K]V)
	if m := c.m.Load(); m != nil {
		maps.Copy(next, *m)
	}
	v = made()
	next[key] = v
	c.m.Store(&next)
	return v, true
}
