package views

import (
	"testing"
	"time"

	"reax/models"
)

func TestAlertPages(t *testing.T) {
	minute := models.Instant(time.Minute.Microseconds())
	muted := AlertRule{Name: "disk", Kind: models.AlertDisk, Limit: "5GiB", After: "1m", Muted: true, Mute: models.AlertMute{Rule: "disk", Until: noon + 60*minute, Reason: hostile, Actor: "ann"}}
	dead := AlertRule{Name: "broken", Kind: models.AlertDead, File: true, After: "1h", Types: []string{"report.*"}, Receivers: []string{"ops"}, Firing: 2}
	pile := AlertRule{Name: "pile", Kind: models.AlertBacklog, Limit: "1000", Clear: "100", For: "5m", After: "1m", Repeat: "4h", Pending: 1}
	fires := AlertRow{Alert: models.Alert{ID: 3, Rule: "broken", Kind: models.AlertDead, Key: "report/f", Since: noon, BeganAt: noon, ToldTo: models.NewTypeNames([]string{"ops"})},
		Facts: models.AlertFacts{Name: "report", Fingerprint: "f", Error: hostile, Count: 3}}
	pends := AlertRow{Alert: models.Alert{ID: 4, Rule: "pile", Kind: models.AlertBacklog, Since: noon}, Value: "1500", Limit: "1000"}
	over := AlertRow{Alert: models.Alert{ID: 1, Rule: "gone", Kind: models.AlertMissed, Key: "…", Since: noon - 60*minute, BeganAt: noon - 60*minute, EndedAt: noon}, Facts: models.AlertFacts{Count: 7}}
	ctx := viewer(t, nil)
	golden(t, "page-alerts", render(ctx, t, AlertsPage(Alerts{
		Rules: []AlertRule{dead, muted, pile}, Open: []AlertRow{pends, fires}, History: []AlertRow{over}, Receivers: [][2]string{{"ops", "slack"}}, Older: URL(ctx, "/alerts", "before", "1"),
	})))
	golden(t, "page-alert-rule", render(ctx, t, AlertRulePage(AlertDetail{
		Rule: muted, Mute: []Field{{ID: "mute-reason", Name: "reason", Kind: "text", Label: "Reason", Error: "Too long."}},
		Form: []Field{{Name: "kind", Kind: "hidden", Value: "disk_low"}, {ID: "alert-name", Name: "name", Kind: "text", Label: "Name", Value: "disk"}},
	})))
	reader := viewer(t, func(v *Viewer) { v.Role, v.Locale = models.RoleViewer, Chinese })
	golden(t, "page-alerts-none-zh", render(reader, t, AlertsPage(Alerts{})))
}
