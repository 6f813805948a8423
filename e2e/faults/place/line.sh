# Writes a line about this run as the probes do: witness start, or witness end. It is one write.
witness() {
	printf '\n{"event":"%s","task_id":%s,"type":"%s","attempt":%s,"pid":%s}\n' "$1" "$REAX_TASK_ID" "$REAX_TYPE" "$REAX_ATTEMPT" "$$" >>"$PROBE_OUT"
}
