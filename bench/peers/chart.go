package peers

import (
	"fmt"
	"html"
	"strings"

	"reax/bench/meter"
)

// The chart has a panel for each number of callers, and in it a bar a system, all to one linear scale.
const (
	chartWidth  = 860
	nameWidth   = 190
	valueWidth  = 80
	rowHeight   = 22
	panelHead   = 34
	chartMargin = 20
)

// chartStyle has colours for light and dark: a picture in a page follows what the reader's system prefers, and has its
// own ground, so that it can be read where the page does not.
const chartStyle = `
.ground{fill:#ffffff;stroke:#d7dce3}.name,.value{fill:#3d4653}.head{fill:#151a21;font-weight:600}.note{fill:#5c6675}
.own{fill:#2f6fed}.peer{fill:#9aa7b8}.ownname{font-weight:600}
text{font-family:system-ui,-apple-system,"Segoe UI",sans-serif;font-size:13px}
@media (prefers-color-scheme:dark){
.ground{fill:#14181e;stroke:#2b323c}.name,.value{fill:#c3cbd6}.head{fill:#eef1f5}.note{fill:#97a2b1}.own{fill:#6ea0ff}.peer{fill:#586577}}
`

// chart draws tasks done a second as an SVG picture.
func (r *report) chart() string {
	var most float64
	var named []string
	panels := 0
	for _, callers := range r.Callers {
		panels++
		for _, v := range r.variants() {
			done := meter.Median(r.results.values(key{v.Key, throughput, callers}, doneRate))
			most = max(most, done)
			named = append(named, fmt.Sprintf("%s with %d callers %s", v.Name, callers, meter.Count(done)))
		}
	}
	height := chartMargin*2 + 24 + panels*(panelHead+len(r.variants())*rowHeight+10)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-labelledby="title desc">`+"\n", chartWidth, height)
	fmt.Fprintf(&b, "<title id=\"title\">Tasks done a second, each accepted onto the disk and run</title>\n<desc id=\"desc\">%s</desc>\n<style>%s</style>\n",
		html.EscapeString(strings.Join(named, "; ")), chartStyle)
	fmt.Fprintf(&b, `<rect class="ground" x=".5" y=".5" width="%d" height="%d" rx="8"/>`+"\n", chartWidth-1, height-1)
	y := chartMargin + 12
	fmt.Fprintf(&b, `<text class="head" x="%d" y="%d">Tasks done a second, from enqueue to the end in the books</text>`+"\n", chartMargin, y)
	y += 12
	for _, callers := range r.Callers {
		y += panelHead
		fmt.Fprintf(&b, `<text class="note" x="%d" y="%d">%d callers, %d workers</text>`+"\n", chartMargin, y-10, callers, workersFor(callers))
		for _, v := range r.variants() {
			bar(&b, y, v, meter.Median(r.results.values(key{v.Key, throughput, callers}, doneRate)), most)
			y += rowHeight
		}
		y += 10
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func bar(b *strings.Builder, y int, v variant, done, most float64) {
	nameClass, barClass := "name", "peer"
	if strings.HasPrefix(v.Key, "reax") {
		nameClass, barClass = "name ownname", "own"
	}
	value := "no figure"
	width := 0.0
	if done > 0 {
		value = meter.Count(done)
		width = max(done/most*(chartWidth-2*chartMargin-nameWidth-valueWidth), 1)
	}
	x := chartMargin + nameWidth
	fmt.Fprintf(b, `<text class="%s" x="%d" y="%d" text-anchor="end">%s</text>`, nameClass, x-10, y+15, html.EscapeString(v.Name))
	fmt.Fprintf(b, `<rect class="%s" x="%d" y="%d" width="%.1f" height="14" rx="2"/>`, barClass, x, y+4, width)
	fmt.Fprintf(b, `<text class="value" x="%.1f" y="%d">%s</text>`+"\n", float64(x)+width+6, y+15, value)
}
