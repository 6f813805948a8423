package views

import (
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/static"
)

// onWhite is the contrast of a colour with white, by the formula of WCAG 2.2.
func onWhite(t *testing.T, colour string) float64 {
	t.Helper()
	var parts [3]int
	_, err := fmt.Sscanf(colour, "#%2x%2x%2x", &parts[0], &parts[1], &parts[2])
	require.NoError(t, err)
	light := .05
	for i, weight := range []float64{.2126, .7152, .0722} {
		c := float64(parts[i]) / 255
		if c <= .04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+.055)/1.055, 2.4)
		}
		light += weight * c
	}
	return 1.05 / light
}

func TestABadgeCanBeRead(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 4.54, onWhite(t, "#767676"), .01)
	for _, colour := range append(slices.Collect(maps.Values(badgeColours)), badgeLabelColour) {
		require.GreaterOrEqual(t, onWhite(t, colour), 4.5, colour)
	}
}

// The contrast of these is computed beside the stylesheet; a tone that it does not know would have the colour of nothing.
func TestEveryToneHasItsColours(t *testing.T) {
	t.Parallel()
	hash := path.Base(path.Dir(static.Path("app.css")))
	css, _, ok := static.Lookup(hash, "app.css")
	require.True(t, ok)
	tones := []string{"quiet", "warn", "ok", "bad", "suspected", "stuck", "paused", logLevel("stderr"), logLevel("warn"), logLevel("info")}
	for _, state := range models.States {
		tones = append(tones, string(state))
	}
	for _, word := range StatusWords {
		tones = append(tones, word.tone())
	}
	for _, severity := range []string{models.SeverityMinor, models.SeverityMajor, ""} {
		for _, kind := range []string{models.IncidentTrouble, models.IncidentMaintenance} {
			tones = append(tones, incidentTone(&models.Incident{Kind: kind, Severity: severity}))
		}
	}
	for _, tone := range tones {
		require.Regexp(t, `\.`+tone+`(, \.\w+)* \{ --st:`, string(css))
	}
}
