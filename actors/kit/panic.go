package kit

import (
	"fmt"
	"runtime/debug"
)

// Panic is what a supervisor is given as the reason of a failure: the recovered value with the stack of the panic.
type Panic struct {
	Value any
	Stack []byte
}

func (p *Panic) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// AsPanic wraps a recovered value. Call it in the deferred function that recovered it, or the stack is another's.
func AsPanic(v any) *Panic {
	if p, ok := v.(*Panic); ok {
		return p
	}
	return &Panic{Value: v, Stack: debug.Stack()}
}

func typeName(v any) string { return fmt.Sprintf("%T", v) }
