package tasks

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of one number: what is longer serves no purpose but to keep a machine busy.
const (
	MaxNumberBytes    = 1_000
	MaxNumberExponent = 1_000
)

// CheckJSON says whether raw is one JSON value that every reader and every database understands alike: valid UTF-8, no
// \u0000, no half of a surrogate pair, no name twice in one object, at most maxDepth levels of objects and arrays, no
// number beyond MaxNumberBytes or MaxNumberExponent. The error is an *InvalidError that gives the place of the first
// fault. It does not recurse.
func CheckJSON(raw []byte, maxDepth int) error {
	if !utf8.Valid(raw) {
		at := 0
		for {
			r, size := utf8.DecodeRune(raw[at:])
			if r == utf8.RuneError && size <= 1 {
				return faultAt(raw, at, "json_utf8")
			}
			at += size
		}
	}
	if !json.Valid(raw) {
		return syntaxFault(raw, maxDepth)
	}
	s := jsonScan{raw: raw, maxDepth: maxDepth}
	return s.run()
}

// syntaxFault asks encoding/json what is wrong: json.Valid is faster, but only says that something is.
func syntaxFault(raw []byte, maxDepth int) error {
	var syntax *json.SyntaxError
	var value json.RawMessage
	err := json.Unmarshal(raw, &value)
	switch {
	case len(bytes.TrimSpace(raw)) == 0:
		return Invalid("", "json_none")
	case !errors.As(err, &syntax):
		return Invalid("", "json")
	case strings.HasSuffix(syntax.Error(), "exceeded max depth"):
		return faultAt(raw, int(syntax.Offset)-1, "json_depth", maxDepth)
	case syntax.Offset >= int64(len(raw)) && syntax.Error() == "unexpected end of JSON input":
		return faultAt(raw, len(raw), "json_syntax", syntax)
	}
	return faultAt(raw, int(syntax.Offset)-1, "json_syntax", syntax)
}

func faultAt(raw []byte, at int, code string, args ...any) error {
	at = min(max(at, 0), len(raw))
	line := 1 + bytes.Count(raw[:at], []byte{'\n'})
	column := 1 + utf8.RuneCount(raw[bytes.LastIndexByte(raw[:at], '\n')+1:at])
	return Invalid("", code, append([]any{line, column, at}, args...)...)
}

// jsonScan walks text that json.Valid has accepted, so it need not look at the grammar again.
type jsonScan struct {
	raw      []byte
	maxDepth int
	levels   []level
}

// level is one open object or array.
type level struct {
	object  bool
	wantKey bool
	names   nameSet
}

func (s *jsonScan) run() error {
	for i := 0; i < len(s.raw); {
		switch c := s.raw[i]; {
		case c == '{' || c == '[':
			if len(s.levels) >= s.maxDepth {
				return faultAt(s.raw, i, "json_depth", s.maxDepth)
			}
			s.open(c == '{')
			i++
		case c == '}' || c == ']':
			s.levels = s.levels[:len(s.levels)-1]
			i++
		case c == ',':
			top := &s.levels[len(s.levels)-1]
			top.wantKey = top.object
			i++
		case c == '"':
			end, err := s.text(i)
			if err != nil {
				return err
			}
			i = end
		case c == '-' || '0' <= c && c <= '9':
			end := i + 1
			for end < len(s.raw) && isNumberByte(s.raw[end]) {
				end++
			}
			if code, limit := hugeNumber(s.raw[i:end]); code != "" {
				return faultAt(s.raw, i, code, limit)
			}
			i = end
		default: // white space, the colon, and the letters of true, false and null
			i++
		}
	}
	return nil
}

// open adds a level, taking up again the memory of one that was closed.
func (s *jsonScan) open(object bool) {
	if n := len(s.levels); n < cap(s.levels) {
		s.levels = s.levels[:n+1]
		s.levels[n].object, s.levels[n].wantKey = object, object
		s.levels[n].names.reset()
		return
	}
	s.levels = append(s.levels, level{object: object, wantKey: object})
}

// text checks the string that begins at start and returns where it ends.
func (s *jsonScan) text(start int) (end int, err error) {
	i, escaped := start+1, false
	for s.raw[i] != '"' {
		if s.raw[i] != '\\' {
			i++
			continue
		}
		escaped = true
		if s.raw[i+1] != 'u' {
			i += 2
			continue
		}
		unit := hexUnit(s.raw[i+2:])
		switch {
		case unit == 0:
			return 0, faultAt(s.raw, i, "json_null")
		case unit >= 0xDC00 && unit <= 0xDFFF:
			return 0, faultAt(s.raw, i, "json_half")
		case unit >= 0xD800 && unit <= 0xDBFF:
			if s.raw[i+6] != '\\' || s.raw[i+7] != 'u' || hexUnit(s.raw[i+8:])&^0x3FF != 0xDC00 {
				return 0, faultAt(s.raw, i, "json_half")
			}
			i += 6
		}
		i += 6
	}
	if n := len(s.levels); n > 0 && s.levels[n-1].wantKey {
		top := &s.levels[n-1]
		top.wantKey = false
		name := s.raw[start+1 : i]
		if escaped {
			var plain string
			if err := json.Unmarshal(s.raw[start:i+1], &plain); err != nil {
				return 0, faultAt(s.raw, start, "json_name")
			}
			name = []byte(plain)
		}
		if !top.names.add(name) {
			return 0, faultAt(s.raw, start, "json_twice", cleanText(string(name), maxMessageBytes))
		}
	}
	return i + 1, nil
}

// hexUnit reads the four hexadecimal digits that json.Valid has seen.
func hexUnit(digits []byte) uint64 {
	unit, err := strconv.ParseUint(string(digits[:4]), 16, 16)
	if err != nil {
		return 0
	}
	return unit
}

func isNumberByte(c byte) bool {
	return '0' <= c && c <= '9' || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'
}

func hugeNumber(number []byte) (code string, limit int) {
	if len(number) > MaxNumberBytes {
		return "json_digits", MaxNumberBytes
	}
	e := bytes.IndexAny(number, "eE")
	if e < 0 {
		return "", 0
	}
	exponent, err := strconv.Atoi(string(number[e+1:]))
	if err != nil || exponent > MaxNumberExponent || exponent < -MaxNumberExponent {
		return "json_exponent", MaxNumberExponent
	}
	return "", 0
}

// nameSet holds the names of one object. Few names are compared one by one, which needs no map.
type nameSet struct {
	few  [][]byte
	many map[string]struct{}
}

const fewNames = 16

func (n *nameSet) reset() { n.few, n.many = n.few[:0], nil }

// add reports whether name is new.
func (n *nameSet) add(name []byte) bool {
	if n.many == nil {
		for _, known := range n.few {
			if bytes.Equal(known, name) {
				return false
			}
		}
		if len(n.few) < fewNames {
			n.few = append(n.few, name)
			return true
		}
		n.many = make(map[string]struct{}, 4*fewNames)
		for _, known := range n.few {
			n.many[string(known)] = struct{}{}
		}
	}
	if _, known := n.many[string(name)]; known {
		return false
	}
	n.many[string(name)] = struct{}{}
	return true
}
