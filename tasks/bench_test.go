package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

var benchParams = json.RawMessage(`{"user_id":1001,"date":"2026-01-31","kind":"short","labels":{"team":"ops"}}`)

func BenchmarkCheckJSON(b *testing.B) {
	b.SetBytes(int64(len(benchParams)))
	for b.Loop() {
		_ = CheckJSON(benchParams, MaxDepth)
	}
}

func BenchmarkCheckSchema(b *testing.B) {
	s := compiled(b, `{"type":"object","required":["user_id"],"properties":{"user_id":{"type":"integer","minimum":1},"date":{"type":"string","format":"date"}}}`)
	for b.Loop() {
		_ = s.Check(benchParams)
	}
}

func BenchmarkCheckStruct(b *testing.B) {
	d, _ := echo[reportParams](b)
	for b.Loop() {
		_ = d.Schema.Check(benchParams)
	}
}

func BenchmarkCheckAnyObject(b *testing.B) {
	for b.Loop() {
		_ = AnyObject().Check(json.RawMessage(`{}`))
	}
}

func BenchmarkHandler(b *testing.B) {
	typed, _ := echo[reportParams](b)
	for name, c := range map[string]struct {
		h      Handler
		params json.RawMessage
	}{
		"typed":  {typed.Handler, benchParams},
		"noop":   {registered(b, noop).Handler, json.RawMessage(`{}`)},
		"result": {registered(b, func(context.Context, struct{}) (address, error) { return address{City: "x"}, nil }).Handler, json.RawMessage(`{}`)},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, _ = c.h(b.Context(), c.params)
			}
		})
	}
}

func BenchmarkCheckMegabyteOfNumbers(b *testing.B) {
	s := compiled(b, `{"type":"object","properties":{"v":{"type":"array","items":{"type":"integer","maximum":5}}}}`)
	for _, number := range []string{"1", "1e-999", "9999999999999999999"} {
		params := json.RawMessage(`{"v":[` + strings.TrimSuffix(strings.Repeat(number+",", 1<<20/(len(number)+1)), ",") + `]}`)
		b.Run(number, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = s.Check(params)
			}
		})
	}
}

func BenchmarkLogLine(b *testing.B) {
	buffer := NewLogBuffer(func([]SeqLine) {})
	defer buffer.Close()
	line := LogLine{Level: "stdout", Text: "a line of a chatty command"}
	for b.Loop() {
		buffer.Log(line)
	}
}

func BenchmarkNewRun(b *testing.B) {
	for b.Loop() {
		_, r := NewRun(b.Context(), &Run{TaskID: 1, Type: "t", TraceID: "ab", Attempt: 1}, nil, nil)
		r.End()
	}
}

func BenchmarkJudge(b *testing.B) {
	err := fmt.Errorf("sending: %w", Retryable(context.DeadlineExceeded))
	for b.Loop() {
		_ = Judge(err, DefaultPolicy())
	}
}
