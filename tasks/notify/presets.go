package notify

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"reax/tasks"
)

// body is the message as its receiver takes it.
func (r *Receiver) body(m Message, now time.Time) ([]byte, error) {
	switch r.Kind {
	case KindWebhook:
		return r.render(m)
	case KindSlack:
		return encode(map[string]any{"text": slackText(m)})
	case KindDingTalk:
		return encode(map[string]any{"msgtype": "markdown", "markdown": map[string]any{"title": markdownText(m.Title), "text": markdown(m, "\n\n")}})
	case KindWeCom:
		return encode(map[string]any{"msgtype": "markdown", "markdown": map[string]any{"content": markdown(m, "\n")}})
	case KindFeishu:
		body := map[string]any{"msg_type": "post", "content": map[string]any{"post": feishuPost(m)}}
		if r.Secret != "" {
			body["timestamp"], body["sign"] = signFeishu(r.Secret, now)
		}
		return encode(body)
	}
	return encode(m)
}

// encode leaves letters such as < as they are: what escapes them is the form of each receiver.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	text := json.NewEncoder(&b)
	text.SetEscapeHTML(false)
	if err := text.Encode(v); err != nil {
		return nil, fmt.Errorf("writing the message: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// quiet keeps a text from calling people: no chat takes an @ for that when a letter without width follows.
func quiet(text string) string { return strings.ReplaceAll(text, "@", "@\u200b") }

var slackEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "*", "∗", "`", "ˋ", "@", "@\u200b")

// slackText is mrkdwn. Its commands, such as <!channel>, and its links begin with <.
func slackText(m Message) string {
	w := words[m.Language]
	lines := []string{"*" + slackEscapes.Replace(m.Title) + "*"}
	for _, r := range m.rows {
		text := slackEscapes.Replace(r.value)
		if r.url != "" {
			text = "<" + r.url + "|" + text + ">"
		}
		if r.label != "" {
			text = r.label + w.colon + text
		}
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n")
}

// Links and pictures of markdown need ]( and tags <; a letter without width between keeps the text readable where escapes are
// not known.
var markdownEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "](", "]\u200b(", "][", "]\u200b[", "![", "!\u200b[", "*", "∗", "`", "ˋ", "~~", "~\u200b~", "@", "@\u200b")

func markdownText(text string) string { return markdownEscapes.Replace(text) }

// markdown is what DingTalk and WeCom know of it.
func markdown(m Message, end string) string {
	w := words[m.Language]
	lines := []string{"**" + markdownText(m.Title) + "**"}
	for _, r := range m.rows {
		text := markdownText(r.value)
		if r.url != "" {
			text = "[" + text + "](" + r.url + ")"
		}
		if r.label != "" {
			text = r.label + w.colon + text
		}
		lines = append(lines, text)
	}
	return strings.Join(lines, end)
}

// feishuPost is a rich text, in which only what has a tag is more than text.
func feishuPost(m Message) map[string]any {
	w := words[m.Language]
	var lines [][]map[string]any
	for _, r := range m.rows {
		var line []map[string]any
		if r.label != "" {
			line = append(line, map[string]any{"tag": "text", "text": r.label + w.colon})
		}
		if r.url != "" {
			line = append(line, map[string]any{"tag": "a", "text": quiet(r.value), "href": r.url})
		} else {
			line = append(line, map[string]any{"tag": "text", "text": quiet(r.value)})
		}
		lines = append(lines, line)
	}
	language := "en_us"
	if m.Language == Chinese {
		language = "zh_cn"
	}
	return map[string]any{language: map[string]any{"title": quiet(m.Title), "content": lines}}
}

// signDingTalk gives the two parameters that a robot of DingTalk with a signature wants.
func signDingTalk(secret string, now time.Time) (at, sign string) {
	at = strconv.FormatInt(now.UnixMilli(), 10)
	return at, hmacOf(secret, at+"\n"+secret)
}

// signFeishu gives the two fields that a bot of Feishu with a signature wants. The text that is signed is empty.
func signFeishu(secret string, now time.Time) (at, sign string) {
	at = strconv.FormatInt(now.Unix(), 10)
	return at, hmacOf(at+"\n"+secret, "")
}

func hmacOf(key, text string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// refused reads what the services of chats answer with 200 when they have not taken a message.
func (r *Receiver) refused(answer json.RawMessage) error {
	if r.Kind != KindDingTalk && r.Kind != KindWeCom && r.Kind != KindFeishu {
		return nil
	}
	var said struct {
		ErrCode int64  `json:"errcode"`
		ErrMsg  string `json:"errmsg"`
		Code    int64  `json:"code"`
		Msg     string `json:"msg"`
	}
	if err := json.Unmarshal(answer, &said); err != nil {
		return tasks.Retryable(errors.New("the answer is not JSON, as that of " + r.Kind + " is"))
	}
	if code := said.ErrCode + said.Code; code != 0 {
		return tasks.Retryable(fmt.Errorf("%s has not taken the message: %d %s", r.Kind, code, oneLine(said.ErrMsg+said.Msg)))
	}
	return nil
}
