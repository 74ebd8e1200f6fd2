// Package ca keeps the certificate authority of the agents' and the manager's certificates in a
// Secret, rotates it, and distributes the bundle of trusted authorities to every namespace that
// needs it. What a rotation is, step by step, is decided by internal/identity.
//
// What is not promised: that agents trust a new authority at once. Nothing is signed by it before
// the bundle that holds it has been handed out for several checks.
package ca
