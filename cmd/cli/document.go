package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// Limits on a configuration file.
const (
	maxConfigBytes  = 1 << 20
	maxConfigDepth  = 100
	maxProblems     = 100
	maxConfigValues = 100_000 // after aliases are followed, so that a few lines cannot grow into gigabytes
)

// document is a YAML file being read. It walks the parsed nodes itself, because a decoder into structs stops at the
// first kind of error, and gives no line for what is well-formed but wrong.
type document struct {
	file     string
	problems problems // at most maxProblems, and one more that says so
	faults   int      // how many there were
	values   int
}

// value is one place in a document. Its methods read it as what it should be, or note a problem and give a zero.
type value struct {
	doc   *document
	path  string
	line  int
	depth int
	node  *yaml.Node
}

// parseDocument reads data as one YAML document. The value is not ok when the file is empty or not YAML.
func parseDocument(file string, data []byte) (*document, value, bool) {
	doc := &document{file: file}
	if len(data) > maxConfigBytes {
		doc.add(0, "", "the file is larger than %d bytes", maxConfigBytes)
		return doc, value{}, false
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		doc.add(0, "", "%v", err)
		return doc, value{}, false
	}
	var root, second yaml.Node
	switch err := loader.Load(&root); {
	case errors.Is(err, io.EOF):
		return doc, value{}, false
	case err != nil:
		doc.addSyntax(err)
		return doc, value{}, false
	}
	switch err := loader.Load(&second); {
	case err == nil:
		doc.add(second.Line, "", "a second document begins here: the file may hold only one")
	case !errors.Is(err, io.EOF):
		doc.addSyntax(err)
	}
	node := &root
	if root.Kind == yaml.DocumentNode && len(root.Content) == 1 {
		node = root.Content[0]
	}
	v := value{doc: doc, line: node.Line, node: node}
	return doc, v, !v.isNull()
}

func (d *document) add(line int, path, format string, args ...any) {
	d.faults++
	switch {
	case d.faults <= maxProblems:
		d.problems = append(d.problems, problem{File: d.file, Line: line, Path: path, Text: fmt.Sprintf(format, args...)})
	case d.faults == maxProblems+1:
		d.problems = append(d.problems, problem{File: d.file, Line: line, Text: "there are more problems here and below"})
	}
}

func (d *document) addSyntax(err error) {
	if load, ok := errors.AsType[*yaml.LoadError](err); ok {
		d.add(load.Mark.Line, "", "not valid YAML: %s", load.Message)
		return
	}
	d.add(0, "", "not valid YAML: %v", err)
}

func (v value) fail(format string, args ...any) { v.doc.add(v.line, v.path, format, args...) }

func (v value) isNull() bool { return v.node.Kind == yaml.ScalarNode && v.node.ShortTag() == "!!null" }

func (v value) isMapping() bool { return v.node.Kind == yaml.MappingNode }

// child is a place inside v. It is not ok when the document has grown too deep or too large.
func (v value) child(key string, line int, node *yaml.Node) (value, bool) {
	path := key
	if v.path != "" {
		path = v.path + "." + key
	}
	c := value{doc: v.doc, path: path, line: line, depth: v.depth + 1, node: follow(node)}
	v.doc.values++
	switch {
	case c.depth > maxConfigDepth:
		c.fail("nested more than %d levels deep", maxConfigDepth)
		return c, false
	case v.doc.values == maxConfigValues:
		c.fail("the file holds more than %d values", maxConfigValues)
		return c, false
	}
	return c, v.doc.values < maxConfigValues
}

// at is the place inside v that a JSON pointer leads to, or the last one on the way that there is.
func (v value) at(pointer string) value {
	for key := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		line, node := v.line, (*yaml.Node)(nil)
		switch i, err := strconv.Atoi(key); {
		case v.node.Kind == yaml.SequenceNode && err == nil && i >= 0 && i < len(v.node.Content):
			line, node = v.node.Content[i].Line, v.node.Content[i]
		case v.node.Kind == yaml.MappingNode:
			for i := 0; i+1 < len(v.node.Content); i += 2 {
				if v.node.Content[i].Value == key {
					line, node = v.node.Content[i].Line, v.node.Content[i+1]
				}
			}
		}
		if node == nil {
			return v
		}
		v.path, v.line, v.node = v.path+"."+key, line, follow(node)
	}
	return v
}

// follow is what an alias stands for.
func follow(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

// entries calls f for each key of a mapping, in the order of the file. Nothing at all counts as an empty mapping.
func (v value) entries(f func(key string, item value)) {
	if v.isNull() {
		return
	}
	if v.node.Kind != yaml.MappingNode {
		v.fail("must be a mapping of keys to values, not %s", v.describe())
		return
	}
	first := map[string]int{}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		key, node := v.node.Content[i], v.node.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			v.doc.add(key.Line, v.path, "a key must be plain text")
			continue
		}
		item, ok := v.child(key.Value, key.Line, node)
		if !ok {
			return
		}
		switch line, seen := first[key.Value]; {
		case key.ShortTag() == "!!merge":
			item.fail("merging with << is not supported: use an alias for a whole value")
		case seen:
			item.fail("given twice, first in line %d", line)
		default:
			first[key.Value] = key.Line
			f(key.Value, item)
		}
	}
}

// mapping reads a mapping whose keys are all known. A key without a value is a problem unless the reader takes it.
func (v value) mapping(fields map[string]func(value)) {
	v.entries(func(key string, item value) {
		read, known := fields[key]
		if !known {
			item.fail("unknown key %s", meant(key, slices.Collect(maps.Keys(fields))))
			return
		}
		read(item)
	})
}

// list gives the items of a sequence.
func (v value) list() []value {
	if v.node.Kind != yaml.SequenceNode {
		v.fail("must be a list, such as [a, b], not %s", v.describe())
		return nil
	}
	var items []value
	for i, node := range v.node.Content {
		item, ok := v.child(strconv.Itoa(i), node.Line, node)
		if !ok {
			return nil
		}
		items = append(items, item)
	}
	return items
}

// text reads any scalar as it is written, so that `PORT: 8080` in an environment needs no quotes.
func (v value) text() string {
	switch tag := v.node.ShortTag(); {
	case v.isNull():
		v.fail("has no value")
	case v.node.Kind != yaml.ScalarNode:
		v.fail("must be text, not %s", v.describe())
	case !slices.Contains([]string{"!!str", "!!int", "!!float", "!!bool", "!!timestamp", "!!merge"}, tag):
		v.fail("the YAML tag %s is not supported", tag)
	case strings.ContainsRune(v.node.Value, 0):
		v.fail("holds a zero character")
	default:
		return v.node.Value
	}
	return ""
}

// texts reads a list of texts.
func (v value) texts() []string {
	var texts []string
	for _, item := range v.list() {
		texts = append(texts, item.text())
	}
	return texts
}

var wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,17})$`)

// whole reads a whole number from low to high.
func (v value) whole(low, high int) int {
	if v.node.Kind != yaml.ScalarNode || v.node.ShortTag() != "!!int" || !wholeNumber.MatchString(v.node.Value) {
		v.fail("must be a whole number from %d to %d, not %s", low, high, v.describe())
		return low
	}
	n, err := strconv.Atoi(v.node.Value)
	if err != nil || n < low || n > high {
		v.fail("%s is not from %d to %d", v.node.Value, low, high)
		return low
	}
	return n
}

// duration reads a length of time up to most. Zero is allowed only if zeroOK.
func (v value) duration(zeroOK bool, most time.Duration) time.Duration {
	if v.node.Kind != yaml.ScalarNode || v.isNull() {
		v.fail("must be a duration with its unit, such as 30s or 2m, not %s", v.describe())
		return 0
	}
	d, err := parseDuration(v.node.Value)
	switch {
	case err != nil:
		v.fail("%v", err)
	case d == 0 && !zeroOK:
		v.fail("must be longer than 0")
	case d > most:
		v.fail("%s is longer than the limit of %s", v.node.Value, formatDuration(most))
	default:
		return d
	}
	return 0
}

// oneOf reads one of some words.
func (v value) oneOf(words ...string) string {
	text := v.node.Value
	if v.node.Kind != yaml.ScalarNode || !slices.Contains(words, text) {
		v.fail("must be %s, not %s", orList(words), v.describe())
		return words[0]
	}
	return text
}

// describe names what stands at v, for messages.
func (v value) describe() string {
	switch {
	case v.isNull():
		return "nothing"
	case v.node.Kind == yaml.MappingNode:
		return "a mapping"
	case v.node.Kind == yaml.SequenceNode:
		return "a list"
	}
	if runes := []rune(v.node.Value); len(runes) > 40 {
		return strconv.Quote(string(runes[:40]) + "…")
	}
	return strconv.Quote(v.node.Value)
}

// orList joins words as "a, b or c".
func orList(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
