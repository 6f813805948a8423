package cli

import (
	"fmt"
	"strings"
)

// secretText is a text of the configuration that may be a secret: it stands in the file, in an environment variable
// ({env: NAME}), or in a file of its own ({file: PATH}).
type secretText struct {
	text, env, file string
	at              value
}

// isSet reports whether the configuration says anything of it.
func (s secretText) isSet() bool { return s.text != "" || s.env != "" || s.file != "" }

// secretText reads a text, or where it is. Relative paths begin at dir.
func (v value) secretText(dir string) secretText {
	s := secretText{at: v}
	if !v.isMapping() {
		s.text = v.text()
		return s
	}
	known := v.doc.faults
	v.mapping(map[string]func(value){
		"env":  func(v value) { s.env = v.text() },
		"file": func(v value) { s.file = inDir(dir, v.text()) },
	})
	if v.doc.faults == known && (s.env == "") == (s.file == "") {
		v.fail("needs env, the name of an environment variable, or file, the path of a file, and not both")
	}
	return s
}

// secretTexts reads a mapping of free keys to such texts.
func (v value) secretTexts(dir string) map[string]secretText {
	m := map[string]secretText{}
	v.entries(func(key string, item value) { m[key] = item.secretText(dir) })
	return m
}

// resolve gives the text itself. what names it in the error, which says how to mend it.
func (s secretText) resolve(what string, env func(string) string) (string, error) {
	switch {
	case s.env != "":
		text := env(s.env)
		if text == "" {
			return "", fmt.Errorf("%s: the environment variable %s is not set", what, s.env)
		}
		return text, nil
	case s.file != "":
		text, err := readSecretFile(s.file)
		if err != nil {
			return "", fmt.Errorf("%s: %w", what, err)
		}
		return text, nil
	}
	return s.text, nil
}

// resolveTexts gives all of them.
func resolveTexts(what string, texts map[string]secretText, env func(string) string) (map[string]string, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	resolved := make(map[string]string, len(texts))
	for name, s := range texts {
		text, err := s.resolve(what+"."+name, env)
		if err != nil {
			return nil, err
		}
		resolved[name] = text
	}
	return resolved, nil
}

// readSecretFile reads a file that holds one secret. Editors end a file with a new line, which nobody means as part of it.
func readSecretFile(path string) (string, error) {
	data, err := readLimited(path, maxSecretBytes+1)
	if err != nil {
		return "", fmt.Errorf("reading the file of a secret: %w", err)
	}
	text := strings.TrimRight(string(data), "\r\n")
	switch {
	case len(data) > maxSecretBytes:
		return "", fmt.Errorf("the file %s is larger than %d bytes", path, maxSecretBytes)
	case text == "":
		return "", fmt.Errorf("the file %s is empty", path)
	}
	return text, nil
}
