package timetable

import (
	"fmt"
	"testing"
	"time"
)

func BenchmarkNext(b *testing.B) {
	for _, cron := range []string{"* * * * *", "0 7 * * *", "0 9 L * *", "30 2 * * 5#3", "0 0 29 2 *"} {
		for _, zone := range []string{"UTC", "Asia/Shanghai", "America/New_York"} {
			b.Run(cron+" "+zone, func(b *testing.B) {
				tt := mustParse(b, Spec{Cron: cron, Timezone: zone})
				at := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
				for b.Loop() {
					at = tt.Next(at)
					if at.Year() > 2060 {
						at = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
					}
				}
			})
		}
	}
}

// BenchmarkTenThousand is what a start with so many schedules costs: each is parsed, and asked for its next run.
func BenchmarkTenThousand(b *testing.B) {
	specs := make([]Spec, 10_000)
	for i := range specs {
		specs[i] = Spec{Cron: fmt.Sprintf("%d %d * * %d", i%60, i/60%24, i%7), Timezone: someZones[i%len(someZones)]}
	}
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	b.Run("parse", func(b *testing.B) {
		for b.Loop() {
			for _, s := range specs {
				mustParse(b, s)
			}
		}
	})
	b.Run("next", func(b *testing.B) {
		var all []*Timetable
		for _, s := range specs {
			all = append(all, mustParse(b, s))
		}
		for b.Loop() {
			for _, tt := range all {
				tt.Next(now)
			}
		}
	})
}

func BenchmarkBetweenAYearOfMinutes(b *testing.B) {
	tt := mustParse(b, Spec{Cron: "* * * * *", Timezone: "America/New_York"})
	from := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	for b.Loop() {
		tt.Between(from, from.AddDate(1, 0, 0), 100)
	}
}
