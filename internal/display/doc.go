// Package display turns an ElectionGroup into what people are shown of it, as data. Every place
// that shows a group takes it from here, so that no two of them disagree.
//
// It needs the object and the present time, and nothing else. It knows what the manager published
// last. That may be older than what the agents know, and is never newer.
//
// Names, versions and messages in a status come from agents, from tenants and from the API server.
// Every string of a Group or an Explanation is printable and bounded (Printable), and the API
// server bounds the lists: a status of any content does no harm to a terminal. (Only the strings:
// whoever writes HTML must escape them for that.)
package display
