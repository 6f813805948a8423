package web

import (
	"context"
	"sync"
)

// Bounds of what is remembered of forms.
const (
	maxSentForms = 10_000
	maxToken     = 64 // bytes
)

// sentForms remembers which task each form has made, so that a form that is sent twice makes one. A page gives each form
// a token of its own. The memory is that of this process and of the latest maxSentForms forms: a double click and a
// reload are what it is for. A caller that wants a promise across restarts uses a unique key. The zero value is ready.
type sentForms struct {
	mu    sync.Mutex
	forms map[string]*sentForm
	order []string // oldest first
}

// sentForm is one form. id and err hold once done is closed.
type sentForm struct {
	done chan struct{}
	id   int64
	err  error
}

// once does the work of a form, unless that has been done or is being done: then it gives the same answer. Work that
// failed is forgotten, so that the form can be sent again. Without a token it always does the work.
func (s *sentForms) once(ctx context.Context, token string, do func(ctx context.Context) (int64, error)) (int64, error) {
	if token == "" || len(token) > maxToken {
		return do(ctx)
	}
	form, first := s.claim(token)
	if !first {
		select {
		case <-form.done:
			return form.id, form.err
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	finished := false
	defer func() { // also when do panics
		if !finished || form.err != nil {
			s.forget(token, form)
		}
		close(form.done)
	}()
	form.err = context.Canceled // what the others are told after a panic
	// The second click of two ends the first request, whose work must be done all the same.
	work, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	form.id, form.err = do(work)
	finished = true
	return form.id, form.err
}

func (s *sentForms) claim(token string) (form *sentForm, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if form, ok := s.forms[token]; ok {
		return form, false
	}
	if s.forms == nil {
		s.forms = map[string]*sentForm{}
	}
	if len(s.order) >= maxSentForms {
		delete(s.forms, s.order[0])
		s.order = s.order[1:]
	}
	form = &sentForm{done: make(chan struct{})}
	s.forms[token] = form
	s.order = append(s.order, token)
	return form, true
}

func (s *sentForms) forget(token string, form *sentForm) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forms[token] == form {
		delete(s.forms, token)
	}
}
