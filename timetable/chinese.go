package timetable

import (
	"fmt"
	"strings"

	"github.com/netresearch/go-cron"
)

type chinese struct{}

func (chinese) in(sentence, zone string) string { return sentence + "（" + zone + "）" }

func (chinese) note(code string) string {
	switch code {
	case NoteGap:
		return "时钟拨快，跳过了 %[1]s；改在跳过之后的第一刻 %[2]s 运行。"
	case NoteRepeated:
		return "时钟拨慢，%[1]s 会出现两次；只在第一次运行。"
	case NoteDoubled:
		return "时钟已拨慢，这是第二次出现 %[1]s；每小时都运行的计划两次都会运行。"
	case NoteZoneChange:
		return "自上次运行以来时钟有过调整；固定间隔按实际经过的时间计算，因此现在是 %[1]s。"
	}
	return ""
}

func (chinese) once(at string) string { return "仅一次：" + at }

func (chinese) verbatim(pattern string) string {
	return "按 cron 表达式“" + pattern + "”运行"
}

func (chinese) interval(seconds int64, since string) string {
	count, unit, days := units(seconds)
	said := "每" + amount(count, []string{"秒", "分钟", "小时"}[unit])
	if days > 1 {
		said += fmt.Sprintf("（%d 天）", days)
	}
	if since != "" {
		said = "从 " + since + " 起" + said
	}
	return said + "一次"
}

func (chinese) times(t times) string {
	minutes := strings.Join(items(t.minutes, number, "–"), "、")
	span := clock(t.first) + " 至 " + clock(t.last) + " 每"
	switch t.form {
	case listed:
		return strings.Join(clocks(t.list), "、")
	case steadily:
		return "每" + amount(int64(t.step), "分钟")
	case hourly:
		return span + amount(int64(t.step), "小时") + "一次"
	case within:
		return span + amount(int64(t.step), "分钟") + "一次"
	case anyHour:
		if t.minutes == 1 {
			return "每小时整点"
		}
		if minutes == "" {
			return ""
		}
		return "每小时的第 " + minutes + " 分"
	}
	hours := strings.Join(items(t.hours, number, "–"), "、")
	if hours == "" || minutes == "" {
		return ""
	}
	return hours + " 时的第 " + minutes + " 分"
}

func (c chinese) dates(d dates) string {
	months := ""
	if list := items(d.months, func(m int) string { return fmt.Sprintf("%d 月", m) }, "至 "); list != nil {
		months = "每年 " + strings.Join(list, "、")
	}
	if d.everyDay {
		return join(months, "每天")
	}
	var choices []string
	days := c.days(d)
	if days == nil && d.days != 0 {
		return ""
	}
	ofMonth := func(list []string) string {
		said := strings.Join(list, "、")
		switch {
		case months == "":
			return join("每月", said)
		case len(list) == 1 && d.days&(d.days-1) == 0 && d.days != 0 && d.months&(d.months-1) == 0 && d.weekdays == 0:
			return months + " " + said
		case len(choices) > 0:
			return said
		case strings.HasPrefix(said, "离"):
			return months + said
		}
		return join(months+"的", said)
	}
	if days != nil {
		choices = append(choices, ofMonth(days))
	}
	if d.weekdays != 0 {
		said := "每" + strings.Join(items(d.weekdays, chineseWeekday, "至"), "、")
		if months != "" && len(choices) == 0 {
			said = months + "的" + said
		}
		choices = append(choices, said)
	}
	if d.nth != nil {
		choices = append(choices, ofMonth(c.nth(d.nth)))
	}
	return strings.Join(choices, "或")
}

func (chinese) days(d dates) []string {
	said := items(d.days, func(n int) string { return fmt.Sprintf("%d 日", n) }, "至 ")
	if said == nil && d.days != 0 {
		return nil
	}
	const working = "工作日（周一至周五）"
	for _, c := range d.special {
		switch c.Type {
		case cron.DomLast:
			said = append(said, "最后一天")
		case cron.DomLastOffset: // counted with the last day itself, which is the first from the end
			said = append(said, fmt.Sprintf("倒数第 %d 天", c.N+1))
		case cron.DomLastWeekday:
			said = append(said, "最后一个"+working)
		case cron.DomNearestWeekday:
			said = append(said, fmt.Sprintf("离 %d 日最近的%s", c.N, working))
		}
	}
	return said
}

func (chinese) nth(list []cron.DowConstraint) (said []string) {
	for _, c := range list {
		which := "最后一个"
		if c.N > 0 {
			which = "第" + []string{"一", "二", "三", "四", "五"}[c.N-1] + "个"
		}
		said = append(said, which+chineseWeekday(c.Weekday))
	}
	return said
}

func chineseWeekday(n int) string {
	return "周" + []string{"日", "一", "二", "三", "四", "五", "六"}[n%7]
}

func (chinese) together(t times, when, on string) string {
	switch {
	case on == "每天" && (t.form == steadily || t.form == anyHour):
		return when
	case strings.HasSuffix(on, "）"):
		return on + when
	case when[0] < 0x80:
		return on + " " + when
	}
	return on + "，" + when
}

// join puts a space between a Chinese letter and a digit.
func join(before, after string) string {
	if before != "" && after[0] < 0x80 {
		return before + " " + after
	}
	return before + after
}

func amount(n int64, unit string) string {
	if n == 1 {
		return unit
	}
	return fmt.Sprintf(" %d %s", n, unit)
}
