package web

import (
	"context"

	"reax/models"
)

// The fake has no accounts: what depends on them runs against the real runtime.

func (f *fake) Users(context.Context) ([]models.User, error) { return nil, f.readErr }
func (f *fake) User(context.Context, string) (models.User, error) {
	return models.User{}, models.ErrNotFound
}
func (f *fake) SessionsOf(context.Context, int64) ([]models.Session, error) { return nil, f.readErr }
func (f *fake) Tokens(context.Context) ([]models.Token, error)              { return nil, f.readErr }
func (f *fake) TokensOf(context.Context, int64) ([]models.Token, error)     { return nil, f.readErr }
