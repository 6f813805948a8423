"""A task written in Python: parameters on stdin, log lines, progress and a result on stdout."""

import json
import os
import sys


def main() -> int:
    params = json.load(sys.stdin)
    user, rows = params["user_id"], params.get("rows", 100)
    print(f"report for user {user}, trace {os.environ['REAX_TRACE_ID']}, attempt {os.environ['REAX_ATTEMPT']}", flush=True)
    total = 0
    for row in range(1, rows + 1):
        total += row
        if row % max(rows // 4, 1) == 0:
            print(f"::progress {row * 100 // rows} row {row} of {rows}", flush=True)
    result = {"user_id": user, "date": params.get("date"), "rows": rows, "total": total}
    print("::result " + json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
