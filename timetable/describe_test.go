package timetable

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPatternsAreSaidInBothLanguages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ cron, en, zh string }{
		{"0 7 * * *", "At 07:00 every day", "每天 07:00"},
		{"@daily", "At 00:00 every day", "每天 00:00"},
		{"@weekly", "At 00:00 every Sunday", "每周日 00:00"},
		{"@monthly", "At 00:00 on the 1st of the month", "每月 1 日 00:00"},
		{"@yearly", "At 00:00 on the 1st of January every year", "每年 1 月 1 日 00:00"},
		{"@hourly", "Every hour", "每小时整点"},
		{"* * * * *", "Every minute", "每分钟"},
		{"*/5 * * * *", "Every 5 minutes", "每 5 分钟"},
		{"15 * * * *", "At minute 15 of every hour", "每小时的第 15 分"},
		{"*/45 * * * *", "At minutes 0 and 45 of every hour", "每小时的第 0、45 分"},
		{"*/7 * * * *", "At minutes 0, 7, 14, …, 56 of every hour", "每小时的第 0、7、14、…、56 分"},
		{"5/15 * * * *", "At minutes 5, 20, 35 and 50 of every hour", "每小时的第 5、20、35、50 分"},
		{"0-29 * * * *", "At minutes 0–29 of every hour", "每小时的第 0–29 分"},
		{"*/5 * * 12 1-5", "Every 5 minutes, Monday to Friday in December", "每年 12 月的每周一至周五，每 5 分钟"},
		{"0 */6 * * *", "At 00:00, 06:00, 12:00 and 18:00 every day", "每天 00:00、06:00、12:00、18:00"},
		{"0 */2 * * *", "Every 2 hours from 00:00 to 22:00, every day", "每天 00:00 至 22:00 每 2 小时一次"},
		{"30 9-17 * * 1-5", "Every hour from 09:30 to 17:30, Monday to Friday", "每周一至周五 09:30 至 17:30 每小时一次"},
		{"*/15 9-17 * * *", "Every 15 minutes from 09:00 to 17:45, every day", "每天 09:00 至 17:45 每 15 分钟一次"},
		{"* 2 * * *", "Every minute from 02:00 to 02:59, every day", "每天 02:00 至 02:59 每分钟一次"},
		{"0 22-2 * * *", "At 00:00, 01:00, 02:00, 22:00 and 23:00 every day", "每天 00:00、01:00、02:00、22:00、23:00"},
		{"0-29 0-2,9,22-23 * * *", "At minutes 0–29 of the hours 0–2, 9, 22 and 23, every day", "每天 0–2、9、22、23 时的第 0–29 分"},
		{"30 2,14 * * 5-7", "At 02:30 and 14:30, Friday to Sunday", "每周五至周日 02:30、14:30"},
		{"0 9 * * 6,0", "At 09:00 every Saturday and Sunday", "每周六、周日 09:00"},
		{"0 9 L * *", "At 09:00 on the last day of the month", "每月最后一天 09:00"},
		{"0 9 L 2 *", "At 09:00 on the last day of February every year", "每年 2 月的最后一天 09:00"},
		{"0 9 L-3 * *", "At 09:00 on the 3rd day before the last day of the month", "每月倒数第 4 天 09:00"},
		{"0 9 LW * *", "At 09:00 on the last working day (Monday to Friday) of the month", "每月最后一个工作日（周一至周五）09:00"},
		{"0 9 15W * *", "At 09:00 on the working day (Monday to Friday) nearest the 15th of the month", "每月离 15 日最近的工作日（周一至周五）09:00"},
		{"0 9 1,15,L * *", "At 09:00 on the 1st, the 15th and the last day of the month", "每月 1 日、15 日、最后一天 09:00"},
		{"0 9 1-31/2 * *", "At 09:00 on the 1st, the 3rd, the 5th, …, the 31st of the month", "每月 1 日、3 日、5 日、…、31 日 09:00"},
		{"0 9 11-13 1,7 *", "At 09:00 on the 11th to the 13th of January and July every year", "每年 1 月、7 月的 11 日至 13 日 09:00"},
		{"0 9 22W 3 *", "At 09:00 on the working day (Monday to Friday) nearest the 22nd of March every year", "每年 3 月离 22 日最近的工作日（周一至周五）09:00"},
		{"0 9 * * 5#3", "At 09:00 on the third Friday of the month", "每月第三个周五 09:00"},
		{"0 9 * 1 5#L", "At 09:00 on the last Friday of January every year", "每年 1 月的最后一个周五 09:00"},
		{"0 9 * * 1,3,5#L", "At 09:00 every Monday and Wednesday or on the last Friday of the month", "每周一、周三或每月最后一个周五 09:00"},
		{"0 9 13 * 5", "At 09:00 on the 13th of the month or every Friday", "每月 13 日或每周五 09:00"},
		{"0 9 1 1 1", "At 09:00 on the 1st of the month or every Monday, in January", "每年 1 月的 1 日或每周一 09:00"},
		{"0 9 * 6-8 *", "At 09:00 every day in June to August", "每年 6 月至 8 月每天 09:00"},
		{"0 9 * 6-8 MON", "At 09:00 every Monday in June to August", "每年 6 月至 8 月的每周一 09:00"},
		{"0 9 13 * 0-7", "At 09:00 every day", "每天 09:00"},
		{"0 9 *,13 * 5", "At 09:00 every Friday", "每周五 09:00"},
		{"1,2,4,7,11,16,22,29,37,46,56,58 * * * *", `By the cron pattern "1,2,4,7,11,16,22,29,37,46,56,58 * * * *"`, "按 cron 表达式“1,2,4,7,11,16,22,29,37,46,56,58 * * * *”运行"},
		{"0 1,2,4,5,7,8,10,11,13,14,16,17 * * *", `By the cron pattern "0 1,2,4,5,7,8,10,11,13,14,16,17 * * *"`, "按 cron 表达式“0 1,2,4,5,7,8,10,11,13,14,16,17 * * *”运行"},
		{"0 9 1,2,4,5,7,8,10,11,13,14,16 * *", `By the cron pattern "0 9 1,2,4,5,7,8,10,11,13,14,16 * *"`, "按 cron 表达式“0 9 1,2,4,5,7,8,10,11,13,14,16 * *”运行"},
		{"0 9 L,L,L * *", "At 09:00 on the last day of the month", "每月最后一天 09:00"},
	} {
		tt := mustParse(t, Spec{Cron: c.cron, Timezone: "Asia/Shanghai"})
		require.Equal(t, c.en+", Asia/Shanghai", tt.Describe("en"), c.cron)
		require.Equal(t, c.zh+"（Asia/Shanghai）", tt.Describe("zh"), c.cron)
	}
}

func TestIntervalsAndOneOffsAreSaidInBothLanguages(t *testing.T) {
	t.Parallel()
	at := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		spec   Spec
		en, zh string
	}{
		{Spec{Every: 90 * time.Minute}, "Every 90 minutes", "每 90 分钟一次"},
		{Spec{Every: time.Second}, "Every second", "每秒一次"},
		{Spec{Every: 90 * time.Second}, "Every 90 seconds", "每 90 秒一次"},
		{Spec{Every: time.Hour, Anchor: at}, "Every hour, counted from 2027-01-01 08:00", "从 2027-01-01 08:00 起每小时一次"},
		{Spec{Every: 24 * time.Hour, Anchor: at.Add(time.Second)}, "Every 24 hours, counted from 2027-01-01 08:00:01", "从 2027-01-01 08:00:01 起每 24 小时一次"},
		{Spec{Every: 7 * 24 * time.Hour}, "Every 168 hours (7 days)", "每 168 小时（7 天）一次"},
		{Spec{At: at}, "Once, on 2027-01-01 at 08:00", "仅一次：2027-01-01 08:00"},
	} {
		c.spec.Timezone = "Asia/Shanghai"
		tt := mustParse(t, c.spec)
		require.Equal(t, c.en+", Asia/Shanghai", tt.Describe("de"))
		require.Equal(t, c.zh+"（Asia/Shanghai）", tt.Describe("zh-Hans"))
	}
}
