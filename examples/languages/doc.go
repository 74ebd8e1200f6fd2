// Package languages runs the examples in other languages beside real agents, under kills and
// pauses.
package languages
