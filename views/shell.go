package views

import (
	"cmp"
	"context"

	"reax/models"
)

// railItem is one link of the rail.
type railItem struct {
	section, icon, path, key string
	group                    string         // a heading above it
	states                   []models.State // the tasks whose number it shows
	least                    models.Role    // who sees it; empty is everybody who sees the page
}

// rail is every section of the dashboard in the order of the rail. The name of a section is what Shell is told, its
// word is the message "nav." + section.
var rail = []railItem{
	{section: "overview", icon: "overview", path: "/", key: "o"},
	{section: "tasks", icon: "tasks", path: "/tasks", key: "t"},
	{section: "dead", icon: "inbox", path: "/dead", key: "d", states: []models.State{models.StateFailed, models.StateDead}},
	{section: "schedules", icon: "clock", path: "/schedules", key: "s"},
	{section: "alerts", icon: "bell", path: "/alerts", key: "w"},
	{section: "types", icon: "types", path: "/types", key: "y", group: "nav.runtime"},
	{section: "actors", icon: "tree", path: "/actors", key: "a"},
	{section: "users", icon: "user", path: "/admin/users", key: "c", group: "nav.access", least: models.RoleAdmin},
	{section: "audit", icon: "audit", path: "/audit", key: "l", least: models.RoleOperator},
	{section: "status", icon: "signal", path: "/incidents", key: "i", least: models.RoleOperator},
}

// count is how many tasks the item is about, as far as it shows that.
func (i railItem) count(ctx context.Context) (n int64) {
	for _, state := range i.states {
		n += ViewerOf(ctx).Counts[state]
	}
	return n
}

// keyHelp is what the keys do that the script adds: each key with its message.
var keyHelp = [][2]string{
	{"/", "keys.search"}, {"j", "keys.next"}, {"k", "keys.previous"}, {"x", "keys.pick"}, {"Enter", "keys.open"},
	{"e", "keys.enqueue"}, {"?", "keys.help"},
}

// commonZones are offered where a time zone is asked for; any other of the IANA database may be written.
var commonZones = []string{
	"UTC", "Asia/Shanghai", "Asia/Tokyo", "Asia/Singapore", "Asia/Kolkata", "Asia/Dubai", "Europe/London", "Europe/Berlin",
	"Europe/Paris", "Europe/Moscow", "America/New_York", "America/Chicago", "America/Denver", "America/Los_Angeles",
	"America/Sao_Paulo", "Africa/Johannesburg", "Australia/Sydney", "Pacific/Auckland",
}

// themes and languages with their messages, as the settings form sends them.
var (
	themes    = [][2]string{{"system", "settings.system"}, {"light", "settings.light"}, {"dark", "settings.dark"}}
	languages = [][2]string{{string(English), "English"}, {string(Chinese), "中文"}}
)

// PageSizes are how many rows a page of a list may have, and DefaultPageSize is how many it has for who has not chosen.
var PageSizes = []int{25, DefaultPageSize, 100}

// DefaultPageSize is one of PageSizes.
const DefaultPageSize = 50

// densities with their messages, as the settings form sends them.
var densities = [][2]string{{"comfortable", "settings.comfortable"}, {"compact", "settings.compact"}}

func densityOf(ctx context.Context) string { return cmp.Or(ViewerOf(ctx).Density, "comfortable") }

func themeOf(ctx context.Context) string {
	if t := ViewerOf(ctx).Theme; t != "" {
		return t
	}
	return "system"
}

// pressed is the value of aria-pressed.
func pressed(on bool) string {
	if on {
		return "true"
	}
	return "false"
}

func flashIcon(tone string) string {
	if tone == "ok" {
		return "check"
	}
	return "alert"
}

// railOf is the part of the rail that is for the viewer. A heading stands over the first item that is left of its group.
func railOf(ctx context.Context) []railItem {
	var items []railItem
	heading := ""
	for _, item := range rail {
		if item.group != "" {
			heading = item.group
		}
		if v := ViewerOf(ctx); !v.Role.May(item.least) || item.section == "users" && v.External {
			continue
		}
		item.group, heading = heading, ""
		items = append(items, item)
	}
	return items
}
