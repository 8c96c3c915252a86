package stream

// bound is one of the limits of what is kept in files.
type bound struct {
	flag   string
	bytes  *int64
	copies int64
	fixed  bool
}

// Fit gives limits that together fit into so many bytes of files: NATS sets aside
// all that a stream may hold. Limits whose flags were given stay as they are; the
// others shrink in proportion, if they must. Fitted tells whether any did.
func (l Limits) Fit(room int64, given func(flag string) bool) (_ Limits, fitted bool) {
	files := []bound{
		{flag: "jobs-backlog-bytes", bytes: &l.BacklogBytes, copies: 1},
		{flag: "jobs-object-bytes", bytes: &l.BlobBytes, copies: 2}, // the service's own and the users'
		{flag: "jobs-verdict-bytes", bytes: &l.VerdictBytes, copies: 1},
		{flag: "jobs-dead-bytes", bytes: &l.DeadBytes, copies: 1},
		{flag: "jobs-record-bytes", bytes: &l.RecordBytes, copies: 1},
	}
	for i := range files {
		files[i].fixed = given != nil && given(files[i].flag)
	}
	// Those that would become too small to be of use are fixed, and the others shrink
	// the more.
	for shrunk := true; shrunk; {
		if shrunk = shrink(files, room); shrunk {
			fitted = true
		}
	}
	return l, fitted
}

// shrink makes all limits smaller that are not fixed, when all together are too
// large, and tells whether it has.
func shrink(files []bound, room int64) bool {
	var fixed, free int64
	for _, f := range files {
		if f.fixed {
			fixed += *f.bytes * f.copies
		} else {
			free += *f.bytes * f.copies
		}
	}
	if fixed+free <= room || free == 0 {
		return false
	}
	share := float64(max(room-fixed, 0)) / float64(free)
	for i := range files {
		if f := &files[i]; !f.fixed {
			*f.bytes = int64(float64(*f.bytes) * share)
			if *f.bytes < leastBytes {
				*f.bytes, f.fixed = leastBytes, true
			}
		}
	}
	return true
}
