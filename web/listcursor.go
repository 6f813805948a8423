package web

import (
	"encoding/base64"
	"strconv"
	"strings"

	"reax/models"
)

// The cursor of a list of tasks is where its next page begins: newest first it is an id, in another order a place in what
// was sorted when the first page was read.

// goOn turns a filter to the page after one, and reports whether there is one.
func goOn(f *models.Filter, page *models.Page) bool {
	if page.After != nil {
		f.After = *page.After
		return true
	}
	f.Before = page.Next
	return page.Next != 0
}

// nextCursor is the cursor of the page after one; empty when there is none.
func nextCursor(f models.Filter, page *models.Page) string {
	switch {
	case !goOn(&f, page):
		return ""
	case f.Order == models.NewestFirst:
		return encodeCursor(f.Before)
	}
	return encodePlace(f.Order, f.After)
}

// readCursor turns a filter to the page of a cursor, which must be one of its order.
func readCursor(text string, f *models.Filter) (err error) {
	if f.Order == models.NewestFirst {
		f.Before, err = decodeCursor(text)
	} else {
		f.After, err = decodePlace(f.Order, text)
	}
	return err
}

const placeDot = "."

func encodePlace(o models.Order, p models.Place) string {
	parts := []string{string(o)}
	for _, n := range []int64{p.Rank, p.ID, p.Low, p.High, int64(p.At)} {
		parts = append(parts, strconv.FormatInt(n, 10))
	}
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Join(parts, placeDot)))
}

func decodePlace(o models.Order, text string) (p models.Place, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return p, errCursor
	}
	parts := strings.Split(string(raw), placeDot)
	to := []*int64{&p.Rank, &p.ID, &p.Low, &p.High, (*int64)(&p.At)}
	if len(parts) != 1+len(to) || parts[0] != string(o) {
		return models.Place{}, errCursor
	}
	for i, part := range parts[1:] {
		if *to[i], err = strconv.ParseInt(part, 10, 64); err != nil {
			return models.Place{}, errCursor
		}
	}
	if p.ID < 1 || p.Low < 0 || p.High <= p.ID || p.At < 1 || encodePlace(o, p) != text {
		return models.Place{}, errCursor
	}
	return p, nil
}
