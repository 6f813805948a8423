package timetable

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBadPatternsAreRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	for cron, reason := range map[string]string{
		" ":                                    "the pattern is empty",
		"* * * *":                              "five fields (minute, hour, day of month, month, weekday), not 4",
		"0 0 9 * * *":                          "seconds and years are not supported",
		"* * * * * * *":                        "not 7",
		"@every 5s":                            "its own field: every",
		"@every 0s":                            "its own field: every",
		"@EVERY -5s":                           "its own field: every",
		"@reboot":                              "@reboot is not a time",
		"@fortnightly":                         `"@fortnightly" is not known; use @yearly`,
		"@":                                    "is not known",
		"TZ=UTC 0 0 * * *":                     "its own field: timezone",
		"CRON_TZ=UTC 0 0 * * *":                "its own field: timezone",
		"TZ=":                                  "its own field: timezone",
		"1,,2 * * * *":                         `minute "1,,2": an item of the list is empty`,
		"1, * * * *":                           "an item of the list is empty",
		"0 ,1 * * *":                           `hour ",1": an item of the list is empty`,
		", * * * *":                            "an item of the list is empty",
		"*/90 * * * *":                         "the step must be at least 1 and smaller than the range",
		"*/60 * * * *":                         "the step must be at least 1 and smaller than the range",
		"*/0 * * * *":                          "the step must be at least 1 and smaller than the range",
		"1-5/6 * * * *":                        "the step must be at least 1 and smaller than the range",
		"60 * * * *":                           "60 is not from 0 to 59",
		"0 24 * * *":                           `hour "24": 24 is not from 0 to 23`,
		"0 0 0 * *":                            `day of month "0": 0 is not from 1 to 31`,
		"0 0 32 * *":                           "32 is not from 1 to 31",
		"0 0 * 13 *":                           `month "13": 13 is not from 1 to 12`,
		"0 0 * * 8":                            `weekday "8": 8 is not from 0 to 7`,
		"70-5 * * * *":                         "70 is not from 0 to 59",
		"0 25-3 * * *":                         "25 is not from 0 to 23",
		"-1 * * * *":                           `minute "-1": not understood`,
		"-99 * * * *":                          "99 is not from 0 to 59",
		"1- * * * *":                           "not understood",
		"1-2-3 * * * *":                        "not understood",
		"1/2/3 * * * *":                        "not understood",
		"5/ * * * *":                           "not understood",
		"/5 * * * *":                           "not understood",
		"+5 * * * *":                           "'+' cannot be used",
		"１ * * * *":                            "'１' cannot be used",
		"*-5 * * * *":                          `"*" stands alone`,
		"** * * * *":                           `"*" stands alone`,
		"99999999999999999999 * * * *":         "not understood",
		"H * * * *":                            "not understood",
		"0 0 * * 5L":                           "5#L (last Friday)",
		"0 0 * * 5#6":                          "not understood",
		"0 0 * * #1":                           "not understood",
		"0 0 * * FRI-SUN/2":                    "must not pass Sunday",
		"0 0 * * 6-2/2":                        "must not pass Sunday",
		"0 0 * JANUARY *":                      "month \"JANUARY\": not understood; use 1-12, JAN-DEC",
		"0 0 L-31 * *":                         "not understood",
		"0 0 32W * *":                          "not understood",
		"0 0 31 2 *":                           "no month that it names has such a day",
		"0 0 30 2 *":                           "no month that it names has such a day",
		"0 0 31 4,6 *":                         "no month that it names has such a day",
		"0 0 31 4,6,9,11 *":                    "no month that it names has such a day",
		"0 0 L-29,30W 2 *":                     "no month that it names has such a day",
		"0 0 * *\n*":                           "the pattern is one line",
		"0\u30000 * * *":                       "separated by spaces",
		"0 0 \x00 * *":                         "cannot be used",
		"0 0 * * \xff":                         "cannot be used",
		strings.Repeat("1,", 99) + "1 * * * *": "at most 200 letters",
	} {
		_, err := Parse(Spec{Cron: cron})
		var bad *FieldError
		require.True(t, errors.As(err, &bad), "%q", cron)
		require.Equal(t, "cron", bad.Field)
		require.Contains(t, bad.Message, reason, "%q", cron)
		require.Equal(t, "cron: "+bad.Message, err.Error())
	}
}

func TestBadZonesAreRefusedAtTheirField(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{
		"Europe/Berln", "Local", "local", "LOCAL", "localtime", "posixrules", "+08:00", "UTC+8", "America", "right/UTC", "posix/UTC",
		"../zoneinfo/UTC", "/etc/localtime", "America//New_York", "America/./New_York", "zone.tab", "a/b/c/d/e", " UTC", "UTC\x00",
		strings.Repeat("x", 65),
	} {
		_, err := Parse(Spec{Cron: "0 0 * * *", Timezone: zone})
		var bad *FieldError
		require.True(t, errors.As(err, &bad), "%q", zone)
		require.Equal(t, "timezone", bad.Field, "%q", zone)
		require.Contains(t, bad.Message, "Europe/Berlin", "%q", zone)
	}
	for _, zone := range []string{"UTC", "EST", "Etc/GMT+8", "America/Argentina/Buenos_Aires", "America/Port-au-Prince"} {
		tt := mustParse(t, Spec{Cron: "0 0 * * *", Timezone: zone})
		require.Equal(t, zone, tt.Next(time.Unix(0, 0)).Location().String())
	}
}

func TestNoZoneMeansUTC(t *testing.T) {
	t.Parallel()
	require.Equal(t, time.UTC, mustParse(t, Spec{Cron: "@daily"}).Next(time.Unix(0, 0)).Location())
}

func TestASpecIsOfOneKind(t *testing.T) {
	t.Parallel()
	at := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		spec          Spec
		field, reason string
	}{
		{Spec{}, "cron", "a schedule needs"},
		{Spec{Cron: "@daily", Every: time.Hour}, "every", "not both"},
		{Spec{Cron: "@daily", At: at}, "at", "neither"},
		{Spec{Every: time.Hour, At: at}, "at", "neither"},
		{Spec{Every: -5 * time.Second}, "every", "at least 1 second"},
		{Spec{Every: 999 * time.Millisecond}, "every", "at least 1 second, not 999ms"},
		{Spec{Every: 1500 * time.Millisecond}, "every", "whole number of seconds"},
		{Spec{Every: 1<<63 - 1}, "every", "at most 10 years"},
		{Spec{Every: time.Hour, Anchor: time.Unix(1<<60, 0)}, "every", "from 1 to 9999"},
		{Spec{At: time.Unix(1<<60, 0)}, "at", "from 1 to 9999"},
		{Spec{At: at, Timezone: "Mars/Base"}, "timezone", "there is no time zone"},
	} {
		_, err := Parse(c.spec)
		var bad *FieldError
		require.True(t, errors.As(err, &bad), "%+v", c.spec)
		require.Equal(t, c.field, bad.Field, "%+v", c.spec)
		require.Contains(t, bad.Message, c.reason)
	}
	mustParse(t, Spec{Every: time.Second})
	mustParse(t, Spec{Every: 3653 * 24 * time.Hour})
}
