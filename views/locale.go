package views

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/language"
)

// Locale is a language that the pages speak, as an HTML lang attribute names it.
type Locale string

// The languages of the pages.
const (
	English Locale = "en"
	Chinese Locale = "zh-CN"
)

// Locales are the languages of the pages. The first is for those who speak none of them.
var Locales = []Locale{English, Chinese}

const maxHeaderBytes = 1000

// catalogueFiles has a folder for each language with a file for each page. The keys of tasks.json begin with "tasks.".
//
//go:embed locales
var catalogueFiles embed.FS

var (
	matcher    = language.NewMatcher([]language.Tag{language.English, language.SimplifiedChinese})
	catalogue  = loadCatalogue()
	localizers = map[Locale]*i18n.Localizer{
		English: i18n.NewLocalizer(catalogue, string(English)),
		Chinese: i18n.NewLocalizer(catalogue, string(Chinese)),
	}
)

func loadCatalogue() *i18n.Bundle {
	bundle := i18n.NewBundle(language.English)
	bundle.RegisterUnmarshalFunc("json", json.Unmarshal)
	for _, l := range Locales {
		names, err := fs.Glob(catalogueFiles, path.Join("locales", string(l), "*.json"))
		if err != nil || len(names) == 0 {
			panic(fmt.Sprintf("views: no catalogue for %s: %v", l, err))
		}
		for _, name := range names {
			text, err := catalogueFiles.ReadFile(name)
			if err != nil {
				panic("views: " + err.Error())
			}
			// The library takes the language from the name that it is told.
			if _, err := bundle.ParseMessageFileBytes(text, string(l)+".json"); err != nil {
				panic("views: " + name + ": " + err.Error())
			}
		}
	}
	return bundle
}

// LocaleOf chooses a language by an Accept-Language header.
func LocaleOf(header string) Locale {
	if len(header) > maxHeaderBytes {
		return English
	}
	tags, _, err := language.ParseAcceptLanguage(header)
	if err != nil {
		return English
	}
	_, i, _ := matcher.Match(tags...)
	return Locales[i]
}

// Text says key in the language of l. pairs are the names and values that the message uses, as {{.name}}; a whole
// number called n chooses between one and other, and shows with its thousands apart. A key without a message is shown
// as it is.
func (l Locale) Text(key string, pairs ...any) string {
	text, ok := l.Lookup(key, pairs...)
	if !ok {
		return key
	}
	return text
}

// Lookup is Text that tells whether there is such a message.
func (l Locale) Lookup(key string, pairs ...any) (string, bool) {
	config := i18n.LocalizeConfig{MessageID: key}
	if len(pairs) > 0 {
		data := make(map[string]any, len(pairs)/2)
		for i := 0; i+1 < len(pairs); i += 2 {
			name, value := fmt.Sprint(pairs[i]), pairs[i+1]
			if n, ok := whole(value); ok {
				value = Number(n)
				if name == "n" {
					config.PluralCount = n
				}
			}
			data[name] = value
		}
		config.TemplateData = data
	}
	localizer, ok := localizers[l]
	if !ok {
		localizer = localizers[English]
	}
	text, err := localizer.Localize(&config)
	return text, err == nil
}

// whole is v as a whole number. What came through JSON is a float.
func whole(v any) (int64, bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true
	case int64:
		return v, true
	case float64:
		return int64(v), v == float64(int64(v))
	}
	return 0, false
}

// Number is n with its thousands apart.
func Number(n int64) string { return humanize.Comma(n) }

// Short is n in at most four letters for a narrow place, such as 1.2k.
func Short(n int64) string {
	if n < 1000 {
		return Number(n)
	}
	value, unit := humanize.ComputeSI(float64(n))
	text := strings.TrimSuffix(fmt.Sprintf("%.1f", value), ".0")
	if value >= 100 {
		text = fmt.Sprintf("%.0f", value)
	}
	return text + unit
}

// Bytes is a size for people, such as 12 kB.
func Bytes(n int64) string { return humanize.Bytes(uint64(max(n, 0))) }
