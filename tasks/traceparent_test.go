package tasks

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestATraceparentIsTakenOnlyAsTheStandardWritesIt(t *testing.T) {
	const trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for header, good := range map[string]bool{
		"00-" + trace + "-" + span + "-01":                    true,
		"00-" + trace + "-" + span + "-00":                    true,
		"cc-" + trace + "-" + span + "-01-of-the-future":      true,
		"00-" + trace + "-" + span + "-01-more":               false,
		"ff-" + trace + "-" + span + "-01":                    false,
		"0-" + trace + "-" + span + "-01":                     false,
		"00-" + trace + "-" + span:                            false,
		"00-" + trace + "-" + span + "-1":                     false,
		"00-" + trace + "-" + span + "-0g":                    false,
		"00-00000000000000000000000000000000-" + span + "-01": false,
		"00-" + trace + "-0000000000000000-01":                false,
		"00-0AF7651916CD43DD8448EB211C80319C-" + span + "-01": false,
		"00-" + trace + "-" + span + "-01\n":                  false,
		trace:                                                 false,
		"":                                                    false,
	} {
		gotTrace, gotSpan, ok := ParseTraceparent(header)
		require.Equal(t, good, ok, "%q", header)
		if good {
			require.Equal(t, trace+span, gotTrace+gotSpan)
		}
	}
}

func TestACallIsToldOfTheSpanThatIsRecorded(t *testing.T) {
	const recorded = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	r := &Run{TraceID: "0af7651916cd43dd8448eb211c80319c"}
	require.Regexp(t, "^00-"+r.TraceID+"-[0-9a-f]{16}-01$", r.traceparent())
	r.Traceparent = recorded
	require.Equal(t, recorded, r.traceparent())
}
