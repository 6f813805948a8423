package web

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"reax/models"
)

func TestHomeInBothLanguages(t *testing.T) {
	f := newFake(t)
	f.counts = []models.Count{{Type: "any", State: models.StateDead, N: 7}, {Type: "b", State: models.StateSuccess, N: 12345}}
	for lang, file := range map[string]string{"en-GB,en;q=0.9": "testdata/home.en.html", "zh-TW;q=0.3, zh-CN,en;q=0.1": "testdata/home.zh-CN.html"} {
		w := scenario{url: "/", status: 200, header: map[string]string{"Accept-Language": lang}, mustNot: []string{"<script", "style=", "//cdn", "http:"}}.run(t, f)
		require.Equal(t, "text/html; charset=UTF-8", w.Header().Get("Content-Type"))
		require.Equal(t, "Accept-Language", w.Header().Get("Vary"))
		// The stylesheet has an address of its own for each content.
		golden(t, file, append(regexp.MustCompile(`/static/[0-9a-f]+/`).ReplaceAll(w.Body.Bytes(), []byte("/static/HASH/")), '\n'))
	}
}

func TestHomeEscapesWhatItShows(t *testing.T) {
	f := newFake(t)
	f.health.Status, f.health.Reasons = "down", []string{`<img src=x onerror=alert(1)>`}
	scenario{url: "/", status: 200, must: []string{"&lt;img"}, mustNot: []string{"<img"}}.run(t, f)
}

func TestHomeShowsWithoutADatabase(t *testing.T) {
	f := newFake(t)
	f.readErr = errSecret
	scenario{url: "/", status: 200, must: []string{"does not answer"}, mustNot: []string{"<dl"}}.run(t, f)
}

func TestLanguagesThatNobodySpeaksAreEnglish(t *testing.T) {
	for _, lang := range []string{"", "fr", "*", "\x00", ";;;q=", string(make([]byte, 100000))} {
		scenario{url: "/", status: 200, header: map[string]string{"Accept-Language": lang}, must: []string{`lang="en"`}}.run(t, newFake(t))
	}
}

func TestTheStylesheetMayBeKeptForEver(t *testing.T) {
	f := newFake(t)
	page := scenario{url: "/", status: 200}.run(t, f).Body.String()
	url := regexp.MustCompile(`href="(/static/[0-9a-f]+/app\.css)"`).FindStringSubmatch(page)
	require.NotNil(t, url)
	w := scenario{url: url[1], status: 200, must: []string{"color-scheme"}}.run(t, f)
	require.Equal(t, "public, max-age=31536000, immutable", w.Header().Get("Cache-Control"))
	require.Equal(t, "text/css; charset=utf-8", w.Header().Get("Content-Type"))
}
