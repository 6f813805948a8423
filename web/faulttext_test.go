package web

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"reax/models"
	"reax/tasks"
	"reax/timetable"
	"reax/views"
)

func TestEveryFaultIsSaidInBothLanguages(t *testing.T) {
	t.Parallel()
	codes := slices.Concat(tasks.FaultCodes(), timetable.Codes())
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(codes))), len(codes), "no code means two things")
	for i, code := range slices.Concat(codes, codes) {
		first := "7"
		if i >= len(codes) {
			first = "1"
		}
		said := map[views.Locale]string{}
		for _, l := range views.Locales {
			var viewer views.Viewer
			viewer.Locale = l
			f := fieldError{Code: code, Message: "the English of the API", args: []string{first, "B1", "C1", "D1"}}
			if len(code) > 10 && code[:10] == "cron.part." {
				f.part = "dow"
			}
			said[l] = faultText(views.WithViewer(t.Context(), &viewer), f)
			require.NotContains(t, said[l], "<no value>", code)
			require.NotContains(t, said[l], "fault.", code)
			require.NotContains(t, said[l], "cron_", code)
		}
		if code == "other" {
			continue
		}
		require.NotContains(t, said, views.Locale(""), code)
		require.NotContains(t, []string{said[views.English], said[views.Chinese]}, "the English of the API", code)
		require.NotEqual(t, said[views.English], said[views.Chinese], code)
	}
}

func TestAFaultInsideOfAFieldSaysWhere(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	require.Equal(t, "Must be at least 5.", faultText(ctx, wrong("", "at_least", 5)))
	require.Equal(t, "Must have at least 1 entry.", faultText(ctx, wrong("", "min_items", 1)))
	require.Equal(t, "Entry 3: This is required.", faultText(ctx, wrong("", "required").within("2")))
	require.Equal(t, "a/b: This is required.", faultText(ctx, wrong("", "required").within("a/b")))
	require.Equal(t, "is <b>odd", faultText(ctx, wrong("", "other", "is <b>odd")))
	require.Equal(t, "Must be one of these: yes or no / a list.", faultText(ctx, wrong("", "types", "true or false or a list")))
	require.Equal(t, "is odd", faultText(ctx, fieldOf("", tasks.FieldError{Location: "/a", Message: "is odd"})), "a fault without a code keeps its words")
}

func TestPagesSayRefusalsInTheLanguageOfTheReader(t *testing.T) {
	t.Parallel()
	chinese := views.WithViewer(t.Context(), &views.Viewer{Locale: views.Chinese})
	s := &Server{}
	for want, err := range map[string]error{
		"没有做任何修改：任务 7 已经成功。":          &models.StateError{ID: 7, State: models.StateSuccess, Action: "discard"},
		"没有做任何修改：它的唯一键现在由任务 8 占用。":    &models.KeyHeldError{Holder: 8},
		"计划 daily 由配置文件管理：请在配置文件中修改。": &models.OwnedError{Name: "daily", Owner: models.OwnerFile},
		"/reason: 最多 1000 字节。":        tasks.Invalid("/reason", "bytes", 1000),
		"":                            newProblem(http.StatusForbidden, "forbidden", "changes from a page of another site are refused"),
	} {
		require.Equal(t, want, s.problem(chinese, err).said(chinese))
		if want != "" {
			require.NotEqual(t, want, s.problem(chinese, err).said(t.Context()))
		}
	}
}
