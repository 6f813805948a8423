package web

import (
	"context"

	"reax/models"
)

// actorJSON is one actor of the live tree.
type actorJSON struct {
	ID        string  `json:"id"`
	Parent    string  `json:"parent"`
	Kind      string  `json:"kind"`
	Depth     int     `json:"depth" doc:"0 for the top"`
	Doing     string  `json:"doing" doc:"The message it works on; empty when idle"`
	BusyMS    float64 `json:"busy_ms" doc:"For how long it has worked on that"`
	Mailbox   int     `json:"mailbox" doc:"Messages that wait"`
	Processed int64   `json:"processed"`
	Restarts  int64   `json:"restarts"`
	LastPanic string  `json:"last_panic"`
	PanicAt   moment  `json:"panic_at"`
}

type actorsOutput struct {
	Body actorTreeJSON
}

// actorTreeJSON is the live tree.
type actorTreeJSON struct {
	Actors []actorJSON `json:"actors" nullable:"false" doc:"Parents before children"`
}

func (s *Server) listActors(context.Context, *struct{}) (*actorsOutput, error) {
	out := &actorsOutput{}
	out.Body.Actors = []actorJSON{}
	for _, row := range s.runtime.Tree() {
		out.Body.Actors = append(out.Body.Actors, actorJSON{
			ID: row.ID, Parent: row.Parent, Kind: row.Kind, Depth: row.Depth, Doing: row.Doing,
			BusyMS: float64(row.Busy.Microseconds()) / 1000, Mailbox: row.Mailbox, Processed: row.Processed,
			Restarts: row.Restarts, LastPanic: row.LastPanic, PanicAt: moment(models.At(row.PanicAt)),
		})
	}
	return out, nil
}
