package views

import (
	"context"
	"slices"

	"reax/models"
)

// Overview is the first page.
type Overview struct {
	Status  string // a word of the runtime's health
	Reasons []string
}

func stateTiles(ctx context.Context) []Tile {
	counts := ViewerOf(ctx).Counts
	var tiles []Tile
	for _, state := range models.States {
		t := Tile{Label: T(ctx, "state."+string(state)), Value: Number(counts[state]), URL: URL(ctx, "/tasks", "state", string(state))}
		if counts[state] > 0 && slices.Contains([]models.State{models.StateFailed, models.StateDead}, state) {
			t.Tone = string(state)
		}
		tiles = append(tiles, t)
	}
	return tiles
}

// toneOfHealth is the colour of a word of health.
func toneOfHealth(status string) string {
	switch status {
	case "ok":
		return "success"
	case "down":
		return "failed"
	}
	return "retry_wait"
}
