package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// after sends the actor itself a message when some time has passed.
func after(c actor.Context, d time.Duration, msg any) *time.Timer {
	self, root := c.Self(), c.ActorSystem().Root
	return time.AfterFunc(d, func() { root.Send(self, msg) })
}

// stopTimer stops a timer of after, if there is one.
func stopTimer(t *time.Timer) {
	if t != nil {
		t.Stop()
	}
}
