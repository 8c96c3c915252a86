package queue

// Remembered is how many tenants the queue knows.
func (q *Queue[T]) Remembered() (n int) {
	for i := range q.levels {
		n += len(q.levels[i].lines)
	}
	return n
}
