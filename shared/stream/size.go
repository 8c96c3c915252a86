package stream

import "triptych/shared/failure"

const (
	// HeaderRoom is left for headers in a message: they count as payload.
	HeaderRoom = 4 << 10
	// pageRoom is what a page needs beside an image in it: the names of its fields.
	pageRoom = 4 << 10
	// pageBytes is how much one page of a job's items holds, if NATS takes messages so
	// large.
	pageBytes = 768 << 10
)

// PageBytes is the most bytes of a page of a job's items. An image of InlineBytes
// fits into it.
func (c *Connection) PageBytes() int {
	return min(pageBytes, int(c.MaxPayload())-HeaderRoom)
}

// fits tells whether an image that is not put into the object store fits into a
// message.
func (c *Connection) fits() error {
	inline, most := c.config.Limits.InlineBytes, c.MaxPayload()
	if room := min(int64(pageBytes), most-HeaderRoom) - pageRoom; most > 0 && int64(inline) > room {
		return failure.New(failure.Invalid, "--jobs-inline-bytes is %d, must be %d or less: NATS takes messages of %d bytes (max_payload), and pages of items have at most %d", inline, max(room, 0), most, pageBytes)
	}
	return nil
}
