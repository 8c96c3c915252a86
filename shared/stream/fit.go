package stream

// Fit gives limits that together fit into so many bytes of files: NATS sets aside
// all that a stream may hold. Limits whose flags were given stay as they are; the
// others shrink in proportion, if they must. Fitted tells whether any did.
func (l Limits) Fit(room int64, given func(flag string) bool) (_ Limits, fitted bool) {
	files := []struct {
		flag   string
		bytes  *int64
		copies int64
	}{
		{"jobs-backlog-bytes", &l.BacklogBytes, 1},
		{"jobs-object-bytes", &l.BlobBytes, 2}, // the service's own and the users'
		{"jobs-verdict-bytes", &l.VerdictBytes, 1},
		{"jobs-dead-bytes", &l.DeadBytes, 1},
		{"jobs-record-bytes", &l.RecordBytes, 1},
	}
	var fixed, free int64
	for _, f := range files {
		if given != nil && given(f.flag) {
			fixed += *f.bytes * f.copies
		} else {
			free += *f.bytes * f.copies
		}
	}
	if fixed+free <= room || free == 0 {
		return l, false
	}
	share := float64(max(room-fixed, 0)) / float64(free)
	for _, f := range files {
		if given == nil || !given(f.flag) {
			*f.bytes = max(int64(float64(*f.bytes)*share), leastBytes)
		}
	}
	return l, true
}
