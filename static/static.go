// Package static holds the files that pages load, embedded in the binary and served under a hash of their content.
package static

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"mime"
	"path"
)

//go:embed app.css live.js favicon.svg
var files embed.FS

// asset is one embedded file.
type asset struct {
	text []byte
	hash string
}

var assets = func() map[string]asset {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err)
	}
	all := map[string]asset{}
	for _, entry := range entries {
		text, err := files.ReadFile(entry.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(text)
		all[entry.Name()] = asset{text, hex.EncodeToString(sum[:6])}
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
