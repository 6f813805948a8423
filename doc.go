// Package reax holds no code: it is the root of the module, and the place of the house rules, which are tests
// (house_test.go). The program is in cmd/reax, and docs/architecture.md shows the rooms.
package reax
