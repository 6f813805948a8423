package views

import (
	"bytes"
	"net/url"

	"github.com/a-h/templ"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown reads what operators write for strangers: no HTML, which is shown as it is written, and no pictures.
var markdown = goldmark.New(goldmark.WithParser(parser.NewParser(
	parser.WithBlockParsers(
		util.Prioritized(parser.NewSetextHeadingParser(), 100),
		util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(parser.NewListParser(), 300),
		util.Prioritized(parser.NewListItemParser(), 400),
		util.Prioritized(parser.NewCodeBlockParser(), 500),
		util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(parser.NewBlockquoteParser(), 800),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	),
	parser.WithInlineParsers(
		util.Prioritized(parser.NewCodeSpanParser(), 100),
		util.Prioritized(parser.NewLinkParser(), 200),
		util.Prioritized(parser.NewAutoLinkParser(), 300),
		util.Prioritized(parser.NewEmphasisParser(), 500),
	),
	parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
	parser.WithASTTransformers(util.Prioritized(tame{}, 100)),
)))

// Markdown is a text of an operator as HTML. Only links to http and https addresses are links.
func Markdown(source string) templ.Component {
	var html bytes.Buffer
	if err := markdown.Convert([]byte(source), &html); err != nil {
		return templ.Raw("<p>" + templ.EscapeString(source) + "</p>")
	}
	return templ.Raw(html.String())
}

// tame takes out of a text what has no place in a page of ours.
type tame struct{}

// Transform replaces what is no link that may be followed by its text, and fits headings in below those of the page.
func (tame) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	source := reader.Source()
	var links []ast.Node
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			n.Level = min(n.Level+3, 6)
		case *ast.Link, *ast.Image, *ast.AutoLink:
			links = append(links, n)
		}
		return ast.WalkContinue, nil
	})
	for _, n := range links {
		parent := n.Parent()
		switch link := n.(type) {
		case *ast.AutoLink:
			if isWebLink(link.URL(source)) {
				outward(n)
				continue
			}
			parent.ReplaceChild(parent, n, ast.NewString(util.EscapeHTML(link.Label(source))))
		case *ast.Link:
			if isWebLink(link.Destination) {
				outward(n)
				continue
			}
			unwrap(parent, n)
		default:
			unwrap(parent, n)
		}
	}
}

// outward has a link open beside the page, which may be a frame of another one, and say nothing of where it stood.
func outward(n ast.Node) {
	n.SetAttributeString("rel", []byte("noopener noreferrer nofollow"))
	n.SetAttributeString("target", []byte("_blank"))
}

// unwrap puts the children of a node in its place.
func unwrap(parent, n ast.Node) {
	for child := n.FirstChild(); child != nil; child = n.FirstChild() {
		parent.InsertBefore(parent, n, child)
	}
	parent.RemoveChild(parent, n)
}

func isWebLink(destination []byte) bool {
	u, err := url.Parse(string(destination))
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}
