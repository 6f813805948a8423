package static

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var token = regexp.MustCompile(`--([\w-]+):\s*light-dark\(#([0-9a-f]{6}),\s*#([0-9a-f]{6})\)`)

// tokens reads the colours of the stylesheet, light and dark.
func tokens(t *testing.T) map[string][2]string {
	t.Helper()
	css := assets["app.css"].text
	all := map[string][2]string{}
	for _, m := range token.FindAllStringSubmatch(string(css), -1) {
		all[m[1]] = [2]string{m[2], m[3]}
	}
	return all
}

// luminance is the relative luminance of WCAG 2.2.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{.2126, .7152, .0722} {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		require.NoError(t, err)
		c := float64(n) / 255
		if c <= .04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + .05) / (min(x, y) + .05)
}

func TestTheFormulaIsThatOfWCAG(t *testing.T) {
	require.InDelta(t, 21, contrast(t, "000000", "ffffff"), .01)
	require.InDelta(t, 4.54, contrast(t, "767676", "ffffff"), .01)
}

func TestColoursCanBeRead(t *testing.T) {
	all := tokens(t)
	enough := func(ink, ground string, least float64) {
		require.Contains(t, all, ink)
		require.Contains(t, all, ground)
		for i, theme := range []string{"light", "dark"} {
			got := contrast(t, all[ink][i], all[ground][i])
			require.GreaterOrEqual(t, got, least, "%s on %s, %s", ink, ground, theme)
		}
	}
	states := 0
	for name := range all {
		state, tint := strings.CutSuffix(name, "-bg")
		if !tint {
			continue
		}
		states++
		enough(state, name, 4.5)
		for _, ink := range []string{"ink", "ink-2", "accent"} { // the words and links beside the state in a banner
			enough(ink, name, 4.5)
		}
		for _, ground := range []string{"canvas", "surface", "sunken", "pick"} {
			enough(state, ground, 4.5)
		}
	}
	require.GreaterOrEqual(t, states, 9, "every state has a tint")
	for _, ground := range []string{"canvas", "surface", "sunken", "pick"} {
		for _, ink := range []string{"ink", "ink-2", "ink-3", "accent"} {
			enough(ink, ground, 4.5)
		}
		enough("control", ground, 3) // the border of an input
	}
	for _, ink := range []string{"ink", "ink-2", "pending"} {
		enough(ink, "line", 4.5) // what lies below the pointer
	}
	for _, m := range rule.FindAllStringSubmatch(string(assets["app.css"].text), -1) {
		i, g := ink.FindStringSubmatch(m[1]), ground.FindStringSubmatch(m[1])
		if i != nil && g != nil && i[1] != "st" {
			enough(i[1], g[1], 4.5)
		}
	}
	enough("on-accent", "accent", 4.5)
	enough("on-accent", "failed", 4.5)
}

var (
	rule   = regexp.MustCompile(`\{([^{}]*)\}`)
	ink    = regexp.MustCompile(`(?:^|[; ])color: var\(--([\w-]+)\)`)
	ground = regexp.MustCompile(`background: var\(--([\w-]+)\)`)
	state  = regexp.MustCompile(`--st: var\(--([\w-]+)\); --st-bg: var\(--([\w-]+)\)`)
)

func TestAStateIsWrittenOnItsOwnTint(t *testing.T) {
	found := state.FindAllStringSubmatch(string(assets["app.css"].text), -1)
	require.GreaterOrEqual(t, len(found), 10)
	for _, m := range found {
		require.Equal(t, m[1]+"-bg", m[2])
	}
}

func TestEveryColourIsAToken(t *testing.T) {
	css := assets["app.css"].text
	_, rules, ok := strings.Cut(string(css), "@layer base {")
	require.True(t, ok)
	rules = regexp.MustCompile(`(?m)^.*\.logo.*$`).ReplaceAllString(rules, "")
	require.NotRegexp(t, `#[0-9a-fA-F]{3,8}\b`, rules, "a colour of its own escapes the contrast test")
	for _, m := range regexp.MustCompile(`var\((--[\w-]+)`).FindAllStringSubmatch(string(css), -1) {
		if m[1] != "--st" && m[1] != "--st-bg" {
			require.Contains(t, string(css), m[1]+":", "a token that nothing sets")
		}
	}
}
