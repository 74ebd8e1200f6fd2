// Package pathmtu lets TCP connections pass paths that drop large packets without a word.
//
// A tunnel between two machines takes smaller packets than their interfaces do. The network is to
// say so by ICMP, but many networks drop that. Then a connection opens and small messages arrive,
// but a full packet never does: the first one of a TLS handshake is one, because the key share of
// X25519MLKEM768 is larger than a packet.
package pathmtu

// MSS is the most bytes of TCP that a packet carries, in either direction: what fits with IPv6 into
// 1280 bytes, which every path has to take.
const MSS = 1220
