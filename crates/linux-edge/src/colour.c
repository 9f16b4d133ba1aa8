// SPDX-License-Identifier: MIT OR Apache-2.0
// What a flow or an aggregate sends beyond its contract gets a mark and goes past the policers; all else goes on to them. `Bucket` in demotion.rs is the
// same rule.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define EXCESS 0x40 // in the mark of a packet
#define SECOND 1000000000ULL

// Addresses and ports in network order, those of IPv4 mapped into IPv6 (RFC 4291, 2.5.5.2); port 0 stands for any source port. A label is the
// destination alone.
struct key {
  __u32 source[4], destination[4];
  __u16 source_port, destination_port;
  __u8 protocol, pad[3];
};

struct contract {
  __u64 rate;   // bits per second
  __u64 bucket; // bits
  __u32 least;  // bytes: a smaller packet counts as this
  __u8 traffic; // of IPv6, of what is beyond a contract already
  __u8 pad[3];
};

struct state {
  struct bpf_spin_lock lock;
  __u32 pad;
  __u64 used; // bits times nanoseconds of a second: what is missing in the bucket
  __u64 at;   // when that was so
  __u64 within, beyond; // packets
};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 65536);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct key);
  __type(value, struct contract);
} contracts SEC(".maps");
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 65536);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct key);
  __type(value, struct state);
} states SEC(".maps");

#define IPV4 4
#define IPV6 41

static __always_inline int exceeds(struct contract *contract, struct state *state, __u32 bytes, __u64 now) {
  __u64 rate = contract->rate, bucket = contract->bucket * SECOND, cost;
  int over = 0;
  if (bytes < contract->least)
    bytes = contract->least;
  cost = (__u64)bytes * 8 * SECOND;
  bpf_spin_lock(&state->lock);
  __u64 passed = now - state->at;
  // Another processor may have looked at the clock later and been here before.
  if ((__s64)passed > 0) {
    state->at = now;
    if (rate)
      state->used = passed > state->used / rate ? 0 : state->used - passed * rate;
  }
  if (state->used + cost > bucket) {
    over = 1;
    state->beyond++;
  } else {
    state->used += cost;
    state->within++;
  }
  bpf_spin_unlock(&state->lock);
  return over;
}

SEC("tc")
int colour(struct __sk_buff *skb) {
  struct key key = {};
  struct contract *contract;
  struct state *state;
  __u32 before = sizeof(struct ethhdr);
  __u16 *ports;
  __u8 traffic = 0;

  // No sender chooses it.
  skb->mark = 0;
  __u32 headers = sizeof(struct ethhdr) + sizeof(struct ipv6hdr) + 4;
  if (bpf_skb_pull_data(skb, headers < skb->len ? headers : skb->len))
    return TC_ACT_UNSPEC;
  void *end = (void *)(long)skb->data_end;
  struct ethhdr *eth = (void *)(long)skb->data;
  if ((void *)(eth + 1) > end)
    return TC_ACT_UNSPEC;
  if (eth->h_proto == bpf_htons(ETH_P_IP)) {
    struct iphdr *ip = (void *)(eth + 1);
    // Policers do not look behind options, and a fragment need not have ports.
    if ((void *)(ip + 1) > end || ip->ihl != 5 || ip->frag_off & bpf_htons(0x3fff))
      return TC_ACT_UNSPEC;
    key.source[2] = key.destination[2] = bpf_htonl(0xffff);
    key.source[3] = ip->saddr;
    key.destination[3] = ip->daddr;
    key.protocol = ip->protocol;
    ports = (void *)(ip + 1);
  } else if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
    struct ipv6hdr *ip = (void *)(eth + 1);
    if ((void *)(ip + 1) > end)
      return TC_ACT_UNSPEC;
    __builtin_memcpy(key.destination, &ip->daddr, sizeof key.destination);
    ports = (void *)(ip + 1);
    traffic = ip->priority << 4 | ip->flow_lbl[0] >> 4;
    if (ip->nexthdr == IPV4 || ip->nexthdr == IPV6) {
      ports = 0;
      before += sizeof *ip;
    } else {
      __builtin_memcpy(key.source, &ip->saddr, sizeof key.source);
      key.protocol = ip->nexthdr;
    }
  } else {
    return TC_ACT_UNSPEC;
  }
  if (ports) {
    if ((void *)(ports + 2) > end)
      return TC_ACT_UNSPEC;
    key.source_port = ports[0];
    key.destination_port = ports[1];
  }
  contract = bpf_map_lookup_elem(&contracts, &key);
  if (!contract && ports) {
    key.source_port = 0;
    contract = bpf_map_lookup_elem(&contracts, &key);
  }
  if (!contract)
    return TC_ACT_UNSPEC;
  if (!ports && (traffic & 0xfc) == contract->traffic) {
    skb->mark = EXCESS;
    return TC_ACT_OK;
  }
  state = bpf_map_lookup_elem(&states, &key);
  if (!state || !exceeds(contract, state, skb->len - before, bpf_ktime_get_ns()))
    return TC_ACT_UNSPEC;
  skb->mark = EXCESS;
  return TC_ACT_OK;
}

char _license[] SEC("license") = "MIT";
