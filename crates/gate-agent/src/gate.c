// SPDX-License-Identifier: MIT OR Apache-2.0
// The message gate as an XDP program: the rule of decision 3 for flows with a contract, a bucket for discovery, a limit and the
// lowest class for everything else. It must see frames before the switch does, and drop them before.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define LONGEST_FRAME 1514 // Ethernet header and 1500; longer ones (offload) would block every class for longer
#define TAG 4 // of a VLAN (IEEE 802.1Q), by which a frame may be longer
#define SHORTEST_FRAME 60
#define AROUND 24 // check sequence, preamble, gap

// Addresses and ports in network order, those of IPv4 mapped into IPv6 (RFC 4291, 2.5.5.2); 0 stands for any source port or any destination
// address. With two addresses and no ports it is all UDP between them that has no other contract, fragments included.
struct address {
  __u32 words[4];
};
struct key {
  __u32 ifindex;
  struct address source, destination;
  __u16 source_port, destination_port;
};

struct contract {
  __u64 separation, tolerance, window; // ns
  __u32 octets;
  __u8 tos, kind, pad[2];
};
enum { MESSAGES, BUCKET };

struct state {
  struct bpf_spin_lock lock;
  __u32 left; // octets left of the open message
  __u64 next, open_until, began, last, judged;
  __u64 messages, frames, octets; // let through
  __u64 early, rest, cut;         // dropped
  // Of the message that frames came of last: what a whole one has still to come, whether it was refused, whether it had a pause before
  // which it may have ended. Whether frames of the message opened last came too late and after a pause, and of the one before.
  __u32 remaining;
  __u8 refused, paused, late, late_before;
  __u64 excess; // went on as what has no contract
};

// Whether a frame that does not fit into an open message is of the one that frames came of last, and not the first of the next: less than
// the pause that a sender has before each message has gone by, and a message's time is not over.
static __always_inline int goes_on(struct contract *contract, struct state *state, __u64 now, __u64 gap, __u64 quiet,
                                   __u32 octets) {
  __u64 most = contract->window + contract->separation;
  if (octets > state->remaining && !state->paused)
    return 0;
  if (gap >= quiet && (quiet || !state->refused))
    return 0;
  if (state->refused) { // its last frame may be late, the next message may be early
    most = contract->window / 2 + contract->separation / 2;
    if (most < contract->window)
      most = contract->window;
  }
  return now < state->began + most;
}

// What has no contract: a frame for each frame_ns, and as many at once as burst_ns has room for.
struct port {
  struct bpf_spin_lock lock;
  __u32 frame_ns;
  __u64 burst_ns, next;
  __u64 per_second; // as it was asked for
};

struct others {
  __u64 best_effort, other, limited, fragments, too_long, tagged, broken;
};

// For tests: every judgement, to be compared with the pure rule.
struct record {
  __u64 time, number;
  __u32 octets, verdict;
};
enum { OPEN, MORE, EARLY, REST, CUT, EXCESS };

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __type(key, struct key);
  __type(value, struct contract);
  __uint(pinning, LIBBPF_PIN_BY_NAME);
} contracts SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __type(key, struct key);
  __type(value, struct state);
  __uint(pinning, LIBBPF_PIN_BY_NAME);
} states SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 256);
  __type(key, __u32);
  __type(value, struct port);
  __uint(pinning, LIBBPF_PIN_BY_NAME);
} ports SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
  __uint(max_entries, 256);
  __type(key, __u32);
  __type(value, struct others);
  __uint(pinning, LIBBPF_PIN_BY_NAME);
} counts SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 20);
} judgements SEC(".maps");
const volatile __u32 log_on = 0;
// Links of a lab that a program emulates put behind each frame when its last bit came: the lower half of the monotonic clock in
// nanoseconds, in the order of the machine. What the program hands over late did not come late.
const volatile __u32 stamped = 0;
#define STAMP 4
#define AHEAD 1000000 // ns; nobody hands a frame over longer before its time, or after it
#define BEHIND 1000000000

static __always_inline void set_tos(struct iphdr *ip, __u8 tos) {
  __u8 old = ip->tos;
  tos |= old & 3; // congestion notification is the sender's and the receiver's
  if (old == tos)
    return;
  __u32 sum = (__u16)~bpf_ntohs(ip->check) + (__u16) ~(__u16)old + tos; // RFC 1624
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  ip->check = bpf_htons(~sum);
  ip->tos = tos;
}

// The class of IPv6 is in the halves of two bytes that meet (RFC 8200, 3).
static __always_inline void set_class(struct ipv6hdr *ip, __u8 class) {
  class |= ip->flow_lbl[0] >> 4 & 3;
  ip->priority = class >> 4;
  ip->flow_lbl[0] = (ip->flow_lbl[0] & 0xf) | class << 4;
}

// The verifier follows a flag through all ways, and takes any pointer to a packet for one that might be 0.
static __always_inline void mark(void *ip, int six, __u8 class) {
  if (six)
    set_class(ip, class);
  else
    set_tos(ip, class);
}

static __always_inline struct address mapped(__u32 ip4) {
  struct address address = {{0, 0, bpf_htonl(0xffff), ip4}};
  return address;
}

// What extension headers of IPv6 (RFC 8200, 4) say: a fragment of UDP, whose only one is that of fragments. Nothing looks behind others: what has
// them is of no flow.
struct fragment {
  __u8 next, reserved;
  __u16 offset;
  __u32 number;
};
#define FRAGMENT 44
#define UDP 17

// The switch process carries so many frames per second and no more: those without a contract must not use them up. A port
// that nobody has set up lets nothing pass.
static __always_inline int limited(__u32 ifindex, __u64 now) {
  struct port *port = bpf_map_lookup_elem(&ports, &ifindex);
  int over = 0;
  if (!port)
    return 1;
  bpf_spin_lock(&port->lock);
  if (now > port->next)
    port->next = now;
  if (port->next - now > port->burst_ns)
    over = 1;
  else
    port->next += port->frame_ns;
  bpf_spin_unlock(&port->lock);
  return over;
}

// The contract for all UDP between two addresses, if there is one; the key becomes that. It is the only one that fragments may have.
static __always_inline struct contract *between(struct key *key) {
  key->source_port = 0;
  key->destination_port = 0;
  return bpf_map_lookup_elem(&contracts, key);
}

// The tag of a VLAN behind the addresses, and the type of what is behind it.
struct tag {
  __u16 control, type;
};

// Whether a frame is of a VLAN, and has no other tag: which VLANs its port is in knows the switch, whose entries match the id. With 0 a tag is for
// the priority alone, 4095 is reserved (IEEE 802.1Q, 9.6).
static __always_inline int is_of_vlan(struct tag *tag) {
  __u16 id = bpf_ntohs(tag->control) & 0xfff;
  return id && id != 0xfff && tag->type != bpf_htons(ETH_P_8021Q) && tag->type != bpf_htons(ETH_P_8021AD);
}

// The contract of a flow; the key becomes the one under which it is.
static __always_inline struct contract *find(struct key *key) {
  __u16 source_port = key->source_port;
  struct contract *contract = bpf_map_lookup_elem(&contracts, key);
  if (contract)
    return contract;
  key->source_port = 0;
  contract = bpf_map_lookup_elem(&contracts, key);
  if (contract)
    return contract;
  key->source_port = source_port;
  struct address source = key->source, destination = key->destination, any = {};
  key->destination = any;
  contract = bpf_map_lookup_elem(&contracts, key);
  if (contract)
    return contract;
  key->source_port = 0;
  contract = bpf_map_lookup_elem(&contracts, key);
  if (contract)
    return contract;
  // The ports of discovery, RTPS 2.5, 9.6.2.3: all that goes to those of one domain shares a contract.
  __u32 port = bpf_ntohs(key->destination_port);
  __u32 offset = port < 7400 ? 1 : (port - 7400) % 250;
  if (offset == 0 || (offset >= 10 && offset % 2 == 0)) {
    key->source = any;
    key->destination_port = bpf_htons(port - offset);
    contract = bpf_map_lookup_elem(&contracts, key);
    if (contract)
      return contract;
  }
  key->source = source;
  key->destination = destination;
  return between(key);
}

// What nobody admitted goes on in the lowest class, if the limit of its port lets it.
static __always_inline int unadmitted(__u32 ifindex, void *ip, int six, struct others *count, __u64 now, int fragment) {
  if (limited(ifindex, now)) {
    count->limited++;
    return XDP_DROP;
  }
  mark(ip, six, 0);
  count->best_effort++;
  count->fragments += fragment;
  return XDP_PASS;
}

// Takes the stamp off the frame: when its last bit came. 0 if there is none.
static __always_inline __u64 take_stamp(struct xdp_md *ctx, __u64 now) {
  void *end = (void *)(long)ctx->data_end, *data = (void *)(long)ctx->data;
  __u64 length = end - data;
  if (length > LONGEST_FRAME + TAG + STAMP || length < sizeof(struct ethhdr) + STAMP)
    return 0;
  __u64 at = length - STAMP;
  asm volatile("" : "+r"(at)); // the verifier knows the sum of both for no place in the frame, if the compiler takes at apart
  __u8 *stamp = data + at;
  __u32 came;
  if ((void *)(stamp + STAMP) > end)
    return 0;
  __builtin_memcpy(&came, stamp, STAMP);
  if (bpf_xdp_adjust_tail(ctx, -STAMP))
    return 0;
  __s32 behind = (__u32)now - came;
  return behind < -AHEAD || behind > BEHIND ? now : now - behind;
}

SEC("xdp")
int gate(struct xdp_md *ctx) {
  __u64 now = bpf_ktime_get_ns(), came = stamped ? take_stamp(ctx, now) : now;
  void *end = (void *)(long)ctx->data_end, *data = (void *)(long)ctx->data;
  struct ethhdr *eth = data;
  void *ip = eth + 1;
  __u32 ifindex = ctx->ingress_ifindex;
  __u32 length = end - data, octets = (length < SHORTEST_FRAME ? SHORTEST_FRAME : length) + AROUND;
  struct others *count = bpf_map_lookup_elem(&counts, &ifindex);
  if (!count)
    return XDP_DROP;
  if (length > LONGEST_FRAME + TAG) {
    count->too_long++;
    return XDP_DROP;
  }
  now = came;
  if (!now || (void *)(eth + 1) > end) {
    count->broken++;
    return XDP_DROP;
  }
  __u16 type = eth->h_proto;
  int tagged = type == bpf_htons(ETH_P_8021Q);
  if (tagged || type == bpf_htons(ETH_P_8021AD)) {
    struct tag *tag = ip;
    if (!tagged || (void *)(tag + 1) > end || !is_of_vlan(tag)) {
      count->tagged++;
      return XDP_DROP;
    }
    type = tag->type;
    ip = tag + 1;
  } else if (length > LONGEST_FRAME) {
    count->too_long++;
    return XDP_DROP;
  }
  if (type != bpf_htons(ETH_P_IP) && type != bpf_htons(ETH_P_IPV6)) {
    if (limited(ifindex, now)) {
      count->limited++;
      return XDP_DROP;
    }
    count->other++;
    return XDP_PASS;
  }
  struct udphdr *udp;
  struct key key = {.ifindex = ifindex};
  struct contract *contract = 0;
  struct state *state = 0;
  int fragment, protocol, six = type == bpf_htons(ETH_P_IPV6);
  if (!six) {
    struct iphdr *ip4 = ip;
    if ((void *)(ip4 + 1) > end || ip4->version != 4 || ip4->ihl < 5) {
      count->broken++;
      return XDP_DROP;
    }
    udp = (void *)ip4 + ip4->ihl * 4;
    key.source = mapped(ip4->saddr);
    key.destination = mapped(ip4->daddr);
    fragment = (ip4->frag_off & bpf_htons(0x3fff)) != 0;
    protocol = ip4->protocol;
  } else {
    struct ipv6hdr *ip6 = ip;
    if ((void *)(ip6 + 1) > end || ip6->version != 6) {
      count->broken++;
      return XDP_DROP;
    }
    udp = (void *)(ip6 + 1);
    __builtin_memcpy(&key.source, &ip6->saddr, sizeof key.source);
    __builtin_memcpy(&key.destination, &ip6->daddr, sizeof key.destination);
    protocol = ip6->nexthdr;
    fragment = protocol == FRAGMENT;
    if (fragment) {
      struct fragment *header = (void *)(ip6 + 1);
      protocol = (void *)(header + 1) <= end ? header->next : FRAGMENT;
    }
  }
  if (fragment) {
    // Only the first one has ports. So that all of a datagram goes the same way, they have a contract by their addresses or none.
    if (protocol == UDP && !tagged)
      contract = between(&key);
  } else if (protocol == UDP && (void *)(udp + 1) <= end) {
    key.source_port = udp->source;
    key.destination_port = udp->dest;
    // In a VLAN there are single flows only: its discovery has no class, and no flow has the rest between two hosts.
    contract = tagged ? bpf_map_lookup_elem(&contracts, &key) : find(&key);
  }
  if (contract)
    state = bpf_map_lookup_elem(&states, &key);
  if (!contract || !state)
    return unadmitted(ifindex, ip, six, count, now, fragment);

  __u64 number, gap;
  __u64 used = contract->tolerance + contract->window; // of the time between two messages
  __u64 quiet = contract->separation > used ? contract->separation - used : 0;
  __u32 verdict;
  bpf_spin_lock(&state->lock);
  if (now < state->last)
    now = state->last; // another core was later at the clock but earlier at the lock
  gap = now - state->last;
  state->last = now;
  number = state->judged++;
  if (contract->kind == BUCKET) {
    // measured by the time until it is full, so that nothing has to be filled; 1538 bytes times an hour fit
    __u64 full = (now > state->next ? now : state->next) +
                 ((__u64)octets * contract->separation + contract->octets - 1) / contract->octets;
    if (full - now > contract->separation) {
      verdict = EXCESS;
      state->excess++;
    } else {
      verdict = OPEN;
      state->next = full;
      state->messages++;
    }
  } else if (now <= state->open_until && octets <= state->left) {
    verdict = MORE;
    if (gap >= quiet)
      state->paused = 1;
    state->left -= octets;
    state->remaining = state->remaining > octets ? state->remaining - octets : 0;
  } else if (goes_on(contract, state, now, gap, quiet, octets)) {
    verdict = REST;
    state->rest++;
    state->remaining = state->remaining > octets ? state->remaining - octets : 0;
  } else if (octets <= contract->octets && now + contract->tolerance >= state->next) {
    verdict = OPEN;
    state->left = contract->octets - octets;
    state->remaining = state->left;
    state->began = now;
    state->open_until = now + contract->window;
    state->next = (now > state->next ? now : state->next) + contract->separation;
    state->refused = 0;
    state->paused = 0;
    state->late_before = state->late;
    state->late = 0;
    state->messages++;
  } else if (!state->refused && now > state->open_until &&
             now <= state->began + contract->window + contract->separation / 2 && octets <= state->remaining &&
             !state->late_before) {
    // the end of a message that was held up on its way for long; the next one may begin in its time. Twice, one after the other, it may
    // be the beginning of the next one
    verdict = REST;
    state->rest++;
    state->late = 1;
    state->remaining -= octets;
  } else { // the rest of this message is refused too, not frames here and there
    if (now <= state->open_until) {
      verdict = CUT;
      state->cut++;
    } else {
      verdict = EARLY;
      state->early++;
      state->began = now;
    }
    state->left = 0;
    state->open_until = 0;
    state->remaining = contract->octets > octets ? contract->octets - octets : 0;
    state->refused = 1;
    state->paused = 0;
    state->late = 0;
    state->late_before = 0;
  }
  if (verdict <= MORE) {
    state->frames++;
    state->octets += octets;
  }
  bpf_spin_unlock(&state->lock);

  if (log_on) {
    struct record *record = bpf_ringbuf_reserve(&judgements, sizeof *record, 0);
    if (record) {
      record->time = now;
      record->number = number;
      record->octets = octets;
      record->verdict = verdict;
      bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
    }
  }
  if (verdict == EXCESS)
    return unadmitted(ifindex, ip, six, count, now, fragment);
  if (verdict > MORE)
    return XDP_DROP;
  mark(ip, six, contract->tos);
  return XDP_PASS;
}

char _license[] SEC("license") = "MIT";
