package stream

// Reconnects is how often the connection has come back. Whoever has consumers that
// a server does not keep makes them anew when it changes.
func (c *Connection) Reconnects() uint64 { return c.js.Conn().Stats().Reconnects }
