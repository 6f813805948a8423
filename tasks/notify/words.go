package notify

import (
	"fmt"
	"time"

	"reax/tasks"
)

// phrases are what messages say in one language.
type phrases struct {
	events  map[string]string
	colon   string
	subject func(kind string, f tasks.NoticeFacts) string
	figure  func(kind string, f tasks.NoticeFacts) string

	rule, since, until, figures, before, err, example, task, dashboard, mute, muteHow, test, by string
}

var words = map[string]phrases{
	English: {
		events: map[string]string{
			tasks.NoticeBegin: "Alert", tasks.NoticeRepeat: "Still going on", tasks.NoticeEnd: "Over", tasks.NoticeTest: "Test message",
		},
		colon: ": ", subject: englishSubject, figure: englishFigure,
		rule: "Rule", since: "Since", until: "Until", figures: "Figures", before: "When last told", err: "Error", example: "Example", task: "task %d",
		dashboard: "Dashboard", mute: "To mute it", muteHow: "open Alerts on the dashboard and mute the rule %s",
		test: "The receiver %s gets messages.", by: "Asked for by",
	},
	Chinese: {
		events: map[string]string{
			tasks.NoticeBegin: "告警", tasks.NoticeRepeat: "告警仍在持续", tasks.NoticeEnd: "告警已恢复", tasks.NoticeTest: "测试消息",
		},
		colon: "：", subject: chineseSubject, figure: chineseFigure,
		rule: "规则", since: "开始时间", until: "恢复时间", figures: "当前情况", before: "上次通知时", err: "错误", example: "示例", task: "任务 %d",
		dashboard: "控制台", mute: "如需静默", muteHow: "请在控制台的“告警”页面静默规则 %s",
		test: "接收方 %s 可以正常收到消息。", by: "发送人",
	},
}

func englishSubject(kind string, f tasks.NoticeFacts) string {
	of := ""
	if f.Name != "" {
		of = " of " + f.Name
	}
	switch kind {
	case "dead":
		if f.Name == "" {
			return "tasks failed for good with further errors"
		}
		return "tasks" + of + " failed for good"
	case "success_rate":
		return "few runs succeed"
	case "oldest_wait":
		return "tasks" + of + " wait too long"
	case "backlog":
		return "many tasks wait"
	case "schedule_missed":
		if f.Name == "" {
			return "further schedules did not run"
		}
		return "schedule " + f.Name + " did not run"
	case "slow_run":
		return "a run" + of + " takes too long"
	case "restarts":
		return "actors crash again and again"
	case "disk_low":
		return "the disk of the database is nearly full"
	}
	return kind
}

func englishFigure(kind string, f tasks.NoticeFacts) string {
	switch kind {
	case "dead":
		return fmt.Sprintf("%d tasks ended failed or dead", f.Count)
	case "success_rate":
		return fmt.Sprintf("%d %% of %d runs in the last 5 minutes succeeded (limit: %d %%)", f.Value, f.Count, f.Limit)
	case "oldest_wait":
		return fmt.Sprintf("the oldest task has waited for %s (limit: %s)", span(f.Value), span(f.Limit))
	case "backlog":
		return fmt.Sprintf("%d tasks wait for a worker (limit: %d)", f.Value, f.Limit)
	case "schedule_missed":
		if f.Count > 0 {
			return fmt.Sprintf("%d runs missed", f.Count)
		}
		return "it is overdue or cannot run"
	case "slow_run":
		return fmt.Sprintf("%d run(s) have taken longer than %d times the 95th percentile; the longest for %s", f.Count, f.Limit, span(f.Value))
	case "restarts":
		return fmt.Sprintf("%d crashes in %s (limit: %d)", f.Value, time.Duration(f.Window)*time.Second, f.Limit)
	case "disk_low":
		return fmt.Sprintf("%d MiB are free (limit: %d MiB)", f.Value>>20, f.Limit>>20)
	}
	return fmt.Sprint(f.Value)
}

func chineseSubject(kind string, f tasks.NoticeFacts) string {
	switch kind {
	case "dead":
		if f.Name == "" {
			return "有任务因其他错误最终失败"
		}
		return f.Name + " 有任务最终失败"
	case "success_rate":
		return "任务成功率过低"
	case "oldest_wait":
		if f.Name != "" {
			return f.Name + " 的任务等待过久"
		}
		return "任务等待过久"
	case "backlog":
		return "任务积压过多"
	case "schedule_missed":
		if f.Name == "" {
			return "还有其他定时计划未按时运行"
		}
		return "定时计划 " + f.Name + " 未按时运行"
	case "slow_run":
		return f.Name + " 运行时间过长"
	case "restarts":
		return "Actor 反复崩溃重启"
	case "disk_low":
		return "数据库所在磁盘空间不足"
	}
	return kind
}

func chineseFigure(kind string, f tasks.NoticeFacts) string {
	switch kind {
	case "dead":
		return fmt.Sprintf("%d 个任务以失败或死信告终", f.Count)
	case "success_rate":
		return fmt.Sprintf("最近 5 分钟 %d 次运行的成功率为 %d%%（阈值 %d%%）", f.Count, f.Value, f.Limit)
	case "oldest_wait":
		return fmt.Sprintf("最早的任务已等待 %s（阈值 %s）", span(f.Value), span(f.Limit))
	case "backlog":
		return fmt.Sprintf("%d 个任务在等待执行（阈值 %d）", f.Value, f.Limit)
	case "schedule_missed":
		if f.Count > 0 {
			return fmt.Sprintf("错过了 %d 次运行", f.Count)
		}
		return "已逾期或无法运行"
	case "slow_run":
		return fmt.Sprintf("%d 次运行超过 P95 的 %d 倍，最长的已运行 %s", f.Count, f.Limit, span(f.Value))
	case "restarts":
		return fmt.Sprintf("%s 内崩溃 %d 次（阈值 %d）", time.Duration(f.Window)*time.Second, f.Value, f.Limit)
	case "disk_low":
		return fmt.Sprintf("剩余 %d MiB（阈值 %d MiB）", f.Value>>20, f.Limit>>20)
	}
	return fmt.Sprint(f.Value)
}

// span is a length of time in nanoseconds, to the second.
func span(n int64) string { return time.Duration(n).Round(time.Second).String() }
