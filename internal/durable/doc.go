// Package durable keeps files that survive a crash of the process and a loss of power.
//
// A Store is a few files of one directory, open in one process at a time. Write replaces a file
// whole: it writes a temporary file, syncs it, renames it, and syncs the directory. When Write
// returns nil, the new content survives whatever happens next. When it returns an error, the file
// has its old or its new content, whole, and only a later Write that succeeds settles which. The
// same holds for a crash at any instant.
//
// What Read returns survives, too, unless a Write or Remove of that file has failed since Open.
// Open syncs the directory before anything is read, because a process that crashed may have left a
// rename that a loss of power would still undo.
//
// A file of Slots is overwritten in place, for whoever waits for the disk. It promises the same, as
// long as a disk never leaves a sector of 512 bytes half written.
//
// What is not promised: two files are not replaced together; a disk that loses what it has
// confirmed, or a directory that is copied or set back, is beyond this package; and on network file
// systems flock may not exclude processes of other machines.
//
// The package imports the standard library only; the linter checks. Package durabletest has a disk
// that fails, crashes, and loses whatever a real one may lose.
package durable
