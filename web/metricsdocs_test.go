package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
)

// dashboard is what is held of the dashboard that the documents offer.
type dashboard struct {
	Title      string
	Panels     []panel
	Templating struct{ List []struct{ Name string } }
}

type panel struct {
	ID         int
	Type       string
	Title      string
	Datasource source
	GridPos    struct{ X, Y, W, H int }
	Targets    []struct {
		RefID      string `json:"refId"`
		Datasource source
		Expr       string
	}
}

type source struct{ Type, UID string }

// requireDocuments holds what the documents query against what there is.
func requireDocuments(t *testing.T, text string, families map[string]*dto.MetricFamily) {
	t.Helper()
	grafana, err := os.ReadFile("../docs/grafana.json")
	require.NoError(t, err)
	var d dashboard
	require.NoError(t, json.Unmarshal(grafana, &d))
	require.NotEmpty(t, d.Title)
	variables := []string{"__all", "__rate_interval", "__range", "__interval"}
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name)
	}
	require.Contains(t, variables, "datasource")
	requireLayout(t, d.Panels)
	series := seriesOf(families)
	for _, p := range d.Panels {
		if p.Type == "row" {
			continue
		}
		require.Equal(t, source{"prometheus", "${datasource}"}, p.Datasource, p.Title)
		require.NotEmpty(t, p.Targets, p.Title)
		refs := map[string]bool{}
		for _, target := range p.Targets {
			require.Equal(t, p.Datasource, target.Datasource, p.Title)
			require.False(t, target.RefID == "" || refs[target.RefID], "%s: the name of a query stands there twice", p.Title)
			refs[target.RefID] = true
			series.require(t, p.Title, target.Expr)
		}
	}
	for _, name := range variable.FindAllStringSubmatch(string(grafana), -1) {
		require.Contains(t, variables, name[1], "the dashboard has no such variable")
	}

	guide, err := os.ReadFile("../docs/observability.md")
	require.NoError(t, err)
	rules := regexp.MustCompile(`expr: '([^']+)'`).FindAllStringSubmatch(string(guide), -1)
	require.Greater(t, len(rules), 5)
	for _, rule := range rules {
		series.require(t, "the guide", rule[1])
	}
	for _, name := range metricName.FindAllString(string(grafana)+string(guide), -1) {
		require.Contains(t, text, "\n"+name, "a document speaks of %s, which is not there", name)
	}
	for name := range families {
		if strings.HasPrefix(name, "reax_") {
			require.Contains(t, string(guide), "`"+name+"`", "the guide has every metric")
		}
	}
}

// requireLayout fails when panels lie over one another or outside of the 24 columns that there are.
func requireLayout(t *testing.T, panels []panel) {
	t.Helper()
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, p := range panels {
		require.False(t, p.ID == 0 || ids[p.ID], "the id %d of %q is that of another panel", p.ID, p.Title)
		ids[p.ID] = true
		at := p.GridPos
		require.True(t, at.W > 0 && at.H > 0 && at.X >= 0 && at.X+at.W <= 24 && at.Y >= 0, "%q is outside of the grid: %+v", p.Title, at)
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				require.Empty(t, cells[[2]int{x, y}], "%q lies over another panel", p.Title)
				cells[[2]int{x, y}] = p.Title
			}
		}
	}
}

var (
	metricName = regexp.MustCompile(`\b(reax|process|go)_[a-z0-9_]+\b`)
	variable   = regexp.MustCompile(`\$\{?([A-Za-z_]+)`)
	selector   = regexp.MustCompile(`\b((?:reax|process|go|up)(?:_[a-z0-9_]+)?)\b(?:\{([^}]*)\})?`)
	matcher    = regexp.MustCompile(`^\s*([a-z_]+)\s*(=~|!~|!=|=)\s*"([^"]*)"\s*$`)
	grouping   = regexp.MustCompile(`\b(?:by|without|on|ignoring)\s*\(([^)]*)\)`)
	aggregate  = regexp.MustCompile(`\b(sum|min|max|avg|count|topk|rate|increase|irate|histogram_quantile|predict_linear|delta|deriv|time|clamp_min|clamp_max|label_replace|by|without|on|ignoring|and|or|unless|offset)\b`)
)

// seriesLabels are the labels of each series name, with the values that they have.
type seriesLabels map[string]map[string]map[string]bool

func seriesOf(families map[string]*dto.MetricFamily) seriesLabels {
	s := seriesLabels{"up": {}}
	for name, f := range families {
		names := []string{name}
		if f.GetType() == dto.MetricType_HISTOGRAM {
			names = []string{name + "_bucket", name + "_sum", name + "_count"}
		}
		for _, name := range names {
			s[name] = map[string]map[string]bool{}
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					if s[name][l.GetName()] == nil {
						s[name][l.GetName()] = map[string]bool{}
					}
					s[name][l.GetName()][l.GetValue()] = true
				}
			}
			if strings.HasSuffix(name, "_bucket") {
				s[name]["le"] = nil
			}
		}
	}
	for name := range s { // which the scrape adds
		s[name]["job"], s[name]["instance"] = nil, nil
	}
	return s
}

// require fails when an expression names a series, a label or a value of a label that is not there, or is not well formed.
func (s seriesLabels) require(t *testing.T, where, expr string) {
	t.Helper()
	what := fmt.Sprintf("%s: %s", where, expr)
	found := selector.FindAllStringSubmatch(expr, -1)
	require.NotEmpty(t, found, what)
	labels := map[string]bool{}
	for _, match := range found {
		require.Contains(t, s, match[1], what)
		have := s[match[1]]
		for name := range have {
			labels[name] = true
		}
		for _, part := range strings.Split(match[2], ",") {
			if strings.TrimSpace(part) == "" {
				continue
			}
			m := matcher.FindStringSubmatch(part)
			require.NotNil(t, m, "%s: %s is no matcher", what, part)
			require.Contains(t, have, m[1], "%s: %s has no label %s", what, match[1], m[1])
			if strings.Contains(m[3], "$") || have[m[1]] == nil || m[1] == "type" {
				continue
			}
			for _, value := range strings.Split(m[3], "|") {
				require.Contains(t, slices.Collect(maps.Keys(have[m[1]])), value, what)
			}
		}
	}
	for _, group := range grouping.FindAllStringSubmatch(expr, -1) {
		for _, name := range strings.Split(group[1], ",") {
			require.True(t, labels[strings.TrimSpace(name)], "%s: no series of it has the label %s", what, name)
		}
	}
	requireBrackets(t, what, expr)
	rest := grouping.ReplaceAllString(selector.ReplaceAllString(expr, " "), " ")
	rest = regexp.MustCompile(`\[[^\]]*\]`).ReplaceAllString(rest, " ")
	rest = aggregate.ReplaceAllString(rest, " ")
	require.Regexp(t, `^[-+*/%^<>=!(),.0-9e\s]*$`, rest, "%s has words that are no function", what)
}

// requireBrackets fails when brackets do not match, or a range is no length of time.
func requireBrackets(t *testing.T, what, expr string) {
	t.Helper()
	var open []rune
	pairs := map[rune]rune{')': '(', ']': '[', '}': '{'}
	for _, r := range regexp.MustCompile(`"[^"]*"`).ReplaceAllString(expr, "") {
		switch r {
		case '(', '[', '{':
			open = append(open, r)
		case ')', ']', '}':
			require.True(t, len(open) > 0 && open[len(open)-1] == pairs[r], "%s: a bracket does not match", what)
			open = open[:len(open)-1]
		}
	}
	require.Empty(t, open, "%s: a bracket stays open", what)
	for _, span := range regexp.MustCompile(`\[([^\]]*)\]`).FindAllStringSubmatch(expr, -1) {
		require.Regexp(t, `^(\d+[smhdw]|\$__rate_interval|\$__range|\$__interval)$`, span[1], what)
	}
}
