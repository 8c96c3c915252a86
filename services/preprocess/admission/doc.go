// Package admission decides which image is worked on next, so that memory is
// bounded whatever the mix of images, and small ones don't wait behind large ones.
// It knows of an image nothing but how many bytes its work holds, its cost.
//
// Work is let in by slots and by a budget of bytes. There are two lanes, of small
// and of large images, each first come, first served. Both lanes get equal shares
// of cost while both wait (start-time fair queueing). One slot and an eighth of the
// budget are never taken by large images, unless there is but one slot. An image
// that is larger than the budget allows is let in when no other large one is at
// work: memory stays below the budget, or below the largest image and an eighth of
// the budget, whichever is more.
//
// Who waits is bounded too: by requests, and by the bytes of the files that came
// with them. The package has no goroutines: who is let in works itself.
package admission
