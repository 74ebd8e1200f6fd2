package election

import (
	"hash/maphash"
	"slices"
)

// Crowd is the most processes of a group in which all bullies link to each other. A hundred would
// make 4,950 connections, each of which costs both ends CPU and memory; so in a larger group, a
// crowd, processes link to the front only. That is the twelve highest candidates; while fewer than
// six of the front may run, the next twelve belong to it, too. The processes of the front link to
// everybody: one of them, the highest that runs, wins the next election and announces it to all.
//
// Rule 1 asks the front first. If nobody of it answers within T, or can, the next twelve are asked,
// and so on. So a process that elects itself has asked all above it, as in the book. T begins anew
// when the link to one that was asked opens, and is not over while such a link is being made.
// Before it has had a coordinator, a process waits T also for those whose links are closed or
// refused. T' is longer by T for each twelve that who answered has to ask first. The price: where
// nobody of the front answers, each further twelve cost T.
const Crowd = 40

// frontLength is by how many processes the front grows.
const frontLength = 12

// Reach changes whenever the links of a crowd do, unless its roster has changed. Of a smaller group
// it is zero.
type Reach struct {
	everyone bool
	front    int    // so many of the highest
	partners uint64 // the sum of their hashes
}

var partnerHash = maphash.MakeSeed()

// block is by how many processes the front grows; in a group that is no crowd, all belong to it.
func (b *bully) block() int {
	switch {
	case b.frontBlock > 0:
		return b.frontBlock
	case len(b.roster) > Crowd:
		return frontLength
	default:
		return len(b.roster)
	}
}

func (b *bully) crowd() bool { return b.block() < len(b.roster) }

// mayAnswer reports whether q is waited for. A process of a crowd that has just started waits for
// all: others may be starting, too. Otherwise each that starts would be the highest for a moment,
// and all would link to it.
func (b *bully) mayAnswer(q Process) bool { return b.peers[q.Name].link != down || b.starting() }

// starting reports whether this process of a crowd has not had a coordinator since it started.
func (b *bully) starting() bool { return b.crowd() && !b.followed }

// front returns how many of the highest processes make up the front, as this process sees it.
func (b *bully) front() int {
	block, running := b.block(), 0
	for i, q := range b.ranked {
		if q.Priority == 0 {
			return i
		}
		if q.Name == b.self.Name || b.mayAnswer(q) {
			running++
		}
		if (i+1)%block == 0 && 2*running >= block {
			return i + 1
		}
	}
	return len(b.ranked)
}

// reach says to whom this process links: to everybody if it belongs to the front or coordinates.
// Otherwise to the front and to its partners.
func (b *bully) reach() Reach {
	if !b.crowd() {
		return Reach{}
	}
	front := b.front()
	r := Reach{
		everyone: b.coordinator == b.self.Name || b.rankOf(b.self) < front,
		front:    front,
	}
	for name := range b.partners {
		r.partners += maphash.String(partnerHash, name)
	}
	return r
}

func (b *bully) links() []string {
	r := b.reach()
	if !b.crowd() || r.everyone {
		return b.otherNames()
	}
	var names []string
	partners := slices.Collect(b.partners)
	for i, q := range b.ranked {
		if q.Name != b.self.Name && (i < r.front || slices.Contains(partners, q.Name)) {
			names = append(names, q.Name)
		}
	}
	return names
}

// partners yields those that this process has asked last and those that it has to answer.
func (b *bully) partners(yield func(string) bool) {
	if !b.engaged() {
		return
	}
	for _, names := range [...][]string{b.awaited, b.answered, b.callers} {
		for _, name := range names {
			if !yield(name) {
				return
			}
		}
	}
}

// engaged reports whether this process takes part in an election, or T is not over since the last
// announcement.
func (b *bully) engaged() bool { return b.electing || b.waits }

// forgetPartners is called when an election may be over: when T is, and when the next message
// comes, because T does not follow on an election that the lease has ended. Partners that are kept
// would be linked to again in the next T, also after an announcement for which this process asked
// nobody.
func (b *bully) forgetPartners() {
	if !b.engaged() {
		b.awaited, b.answered, b.callers = b.awaited[:0], b.answered[:0], b.callers[:0]
	}
}

// linger keeps the partners for T where no election follows on an answer.
func (b *bully) linger() {
	if b.crowd() && !b.engaged() {
		b.awaitStragglers()
	}
}

// hasAsked reports whether this process has asked q in its newest election, or passed it over.
func (b *bully) hasAsked(q Process) bool {
	return b.asked.Name != "" && !b.asked.Outranks(q)
}

// opensBlock reports whether q is to be asked only when those before it have not answered.
func (b *bully) opensBlock(q Process) bool {
	if !b.crowd() {
		return false
	}
	at, block := b.rankOf(q), b.block()
	return at >= b.front() && at/block != b.rankOf(b.asked)/block
}

// blocksBefore returns how many blocks a process has to ask before its own: for so many T more than
// in a smaller group it may not announce itself.
func (b *bully) blocksBefore(p Process) int { return b.rankOf(p) / b.block() }

// calledBy makes one that this process has to answer its partner.
func (b *bully) calledBy(from Process) {
	if b.crowd() && !slices.Contains(b.callers, from.Name) {
		b.callers = append(b.callers, from.Name)
	}
}

func (b *bully) awaits(name string) bool {
	return b.crowd() && b.electing && slices.Contains(b.awaited, name)
}

// awaitsLinks reports whether an answer cannot have come, because a link is being made. Like
// forming, that is so for as many T as the group has processes, and no more in a life.
func (b *bully) awaitsLinks() bool {
	return b.crowd() && b.electing && b.waited < len(b.roster) &&
		slices.ContainsFunc(b.awaited, func(name string) bool {
			p := b.peers[name]
			return p != nil && p.link == unknown
		})
}

// awaitAgain begins T anew for those that were asked.
func (b *bully) awaitAgain() {
	b.waited++
	b.wait(AwaitAnswer, 1)
}

// peerUp gives one that was asked T from when it could be.
func (b *bully) peerUp(p Process) {
	if b.awaits(p.Name) && len(b.answered) == 0 && b.waited < len(b.roster) {
		b.awaitAgain()
	}
}

// alone is what an algorithm says that knows no crowds.
type alone struct{}

func (alone) crowd() bool        { return false }
func (alone) reach() Reach       { return Reach{} }
func (alone) awaits(string) bool { return false }
func (alone) awaitsLinks() bool  { return false }
