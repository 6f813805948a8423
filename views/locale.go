package views

import "golang.org/x/text/language"

// Locale is a language that the pages speak, as an HTML lang attribute names it.
type Locale string

// The languages of the pages.
const (
	English Locale = "en"
	Chinese Locale = "zh-CN"
)

var (
	locales = []Locale{English, Chinese} // the first is for those who speak none of them
	matcher = language.NewMatcher([]language.Tag{language.English, language.SimplifiedChinese})
)

const maxHeaderBytes = 1000

// LocaleOf chooses a language by an Accept-Language header.
func LocaleOf(header string) Locale {
	if len(header) > maxHeaderBytes {
		return English
	}
	tags, _, err := language.ParseAcceptLanguage(header)
	if err != nil {
		return English
	}
	_, i, _ := matcher.Match(tags...)
	return locales[i]
}

// texts has what the pages say, in the order of locales.
var texts = map[string][2]string{
	"tagline":      {"Background tasks, kept and run.", "后台任务，不丢失，按时跑。"},
	"version":      {"version", "版本"},
	"tasks":        {"Tasks", "任务"},
	"no_counts":    {"The database does not answer now.", "数据库暂时没有响应。"},
	"interface":    {"Interface", "接口"},
	"link_openapi": {"OpenAPI document", "OpenAPI 文档"},
	"link_tasks":   {"Latest tasks (JSON)", "最近的任务（JSON）"},
	"link_types":   {"Task types (JSON)", "任务类型（JSON）"},
	"link_health":  {"Health (JSON)", "健康状况（JSON）"},
	"ok":           {"running", "运行正常"},
	"degraded":     {"running, with problems", "运行中，有问题"},
	"draining":     {"stopping", "正在停止"},
	"down":         {"not working", "无法工作"},
	"pending":      {"pending", "等待中"},
	"running":      {"running", "运行中"},
	"retry_wait":   {"waiting to retry", "等待重试"},
	"success":      {"succeeded", "成功"},
	"failed":       {"failed", "失败"},
	"dead":         {"dead", "重试耗尽"},
	"cancelled":    {"cancelled", "已取消"},
}

// t says key in the language of l. A key without a text is shown as it is.
func (l Locale) t(key string) string {
	pair, ok := texts[key]
	switch {
	case !ok:
		return key
	case l == Chinese:
		return pair[1]
	}
	return pair[0]
}
