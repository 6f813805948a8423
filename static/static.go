// Package static holds the files that pages load, embedded in the binary and served under a hash of their content.
package static

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"mime"
	"path"
)

//go:embed css live.js favicon.svg
var files embed.FS

// sheets are the parts of app.css, in the order in which they are joined.
var sheets = []string{"css/base.css", "css/parts.css", "css/pages.css"}

// asset is one embedded file.
type asset struct {
	text []byte
	hash string
}

var assets = func() map[string]asset {
	all := map[string]asset{}
	for name, parts := range map[string][]string{"app.css": sheets, "live.js": {"live.js"}, "favicon.svg": {"favicon.svg"}} {
		var text []byte
		for _, part := range parts {
			more, err := files.ReadFile(part)
			if err != nil {
				panic(err)
			}
			text = append(text, more...)
		}
		sum := sha256.Sum256(text)
		all[name] = asset{text, hex.EncodeToString(sum[:6])}
	}
	return all
}()

// Path is the address of a file below the base path. It panics on a name that is not embedded, which is a mistake in a
// page.
func Path(name string) string {
	a, ok := assets[name]
	if !ok {
		panic("static: there is no file " + name)
	}
	return "/static/" + a.hash + "/" + name
}

// Lookup finds the file at "/static/" + hash + "/" + name. It finds nothing under a hash of other content.
func Lookup(hash, name string) (text []byte, mediaType string, ok bool) {
	a, ok := assets[name]
	if !ok || a.hash != hash {
		return nil, "", false
	}
	return a.text, mime.TypeByExtension(path.Ext(name)), true
}
