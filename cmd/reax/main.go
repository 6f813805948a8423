// Command reax runs a team's background tasks from one binary and one SQLite file.
package main

import "reax/cmd/cli"

func main() { cli.Main(nil) }
