package models

import "errors"

// refusal is an error that is the answer to a change, and no fault of the ledger.
type refusal struct{ err error }

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// Refuse marks err as the answer to whoever asks for a change: what they want cannot be, by what the ledger holds. A
// change that is refused has written nothing, so that its neighbours in the transaction stand.
func Refuse(err error) error { return &refusal{err} }

// IsRefusal reports whether err comes from Refuse, or is ErrNotFound.
func IsRefusal(err error) bool {
	var r *refusal
	return errors.As(err, &r) || errors.Is(err, ErrNotFound)
}
