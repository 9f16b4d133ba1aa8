// SPDX-License-Identifier: MIT OR Apache-2.0
// Message gate: at most one message of M wire bytes per separation T, per flow, before the switch sees the frame.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define MAX_FRAME 1514 // Ethernet header + 1500; longer ones (offload super-frames) break the blocking term of every class

struct key { // addresses and ports in network order; the port of the switch is part of the flow
  __u32 ifindex, saddr, daddr;
  __u16 sport, dport;
};
struct contract {
  __u64 sep_ns, tol_ns, win_ns; // T, tolerance, longest emission of one message
  __u32 bytes;                  // M, wire bytes: max(frame, 60) + 24 for each frame
  __u16 id;
  __u8 tos, pad;
};
struct state {
  struct bpf_spin_lock lock;
  __u32 left; // bytes left of the open message
  __u64 next, open_until, reject_until, last, seq;
  __u64 msgs, frames, bytes; // passed
  __u64 early, rest, cut;    // dropped frames: first of a refused message, its remainder, did not fit
};
struct rec { __u64 t, seq; __u32 bytes; __u16 id; __u8 verdict, pad; __u64 tag[2]; };
enum { OPEN, MORE, EARLY, REST, CUT };
struct port { // everything without a contract: one frame per frame_ns on average, burst_ns ahead of it at most
  struct bpf_spin_lock lock;
  __u32 frame_ns;
  __u64 burst_ns, next;
};
enum { P_BE, P_FRAG, P_LONG, P_TAG, P_OTHER, P_LIMIT, P_N };

struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 1024); __type(key, struct key); __type(value, struct contract); } contracts SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 1024); __type(key, struct key); __type(value, struct state); } states SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 256); __type(key, __u32); __type(value, struct port); } ports SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); __uint(max_entries, P_N); __type(key, __u32); __type(value, __u64); } policy SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 1 << 25); } passlog SEC(".maps");
const volatile __u32 log_on = 0;

static __always_inline void count(__u32 i) {
  __u64 *c = bpf_map_lookup_elem(&policy, &i);
  if (c) ++*c;
}

static __always_inline void set_tos(struct iphdr *ip, __u8 tos) {
  __u8 old = ip->tos;
  __u32 sum;
  if (old == tos) return;
  sum = (__u16)~bpf_ntohs(ip->check) + (__u16)~(__u16)old + tos; // RFC 1624
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  ip->check = bpf_htons(~sum);
  ip->tos = tos;
}

// The switch process has so many frames per second and no more: the unadmitted ones must not use them up.
static __always_inline int unadmitted(__u32 ifindex, __u32 what) {
  struct port *p = bpf_map_lookup_elem(&ports, &ifindex);
  __u64 now = bpf_ktime_get_ns();
  int pass = 1;
  if (p) {
    bpf_spin_lock(&p->lock);
    if (now > p->next) p->next = now;
    if (p->next - now > p->burst_ns) pass = 0;
    else p->next += p->frame_ns;
    bpf_spin_unlock(&p->lock);
  }
  count(pass ? what : P_LIMIT);
  return pass ? XDP_PASS : XDP_DROP;
}

SEC("xdp") int gate(struct xdp_md *ctx) {
  void *end = (void *)(long)ctx->data_end, *data = (void *)(long)ctx->data;
  struct ethhdr *eth = data;
  struct iphdr *ip = (void *)(eth + 1);
  __u32 len = end - data, b = (len < 60 ? 60 : len) + 24;
  if (len > MAX_FRAME) { count(P_LONG); return XDP_DROP; }
  if ((void *)(eth + 1) > end) return XDP_DROP;
  if (eth->h_proto == bpf_htons(ETH_P_8021Q) || eth->h_proto == bpf_htons(ETH_P_8021AD)) { count(P_TAG); return XDP_DROP; }
  if (eth->h_proto != bpf_htons(ETH_P_IP)) return unadmitted(ctx->ingress_ifindex, P_OTHER);
  if ((void *)(ip + 1) > end || ip->ihl < 5) return XDP_DROP;
  // A fragment is never part of a promise; without its ports the first one alone must not reach the class either.
  if (ip->frag_off & bpf_htons(0x3fff)) { count(P_FRAG); return XDP_DROP; }
  struct udphdr *udp = (void *)ip + ip->ihl * 4;
  struct key k = {.ifindex = ctx->ingress_ifindex, .saddr = ip->saddr, .daddr = ip->daddr};
  if (ip->protocol == 17 && (void *)(udp + 1) <= end) k.sport = udp->source, k.dport = udp->dest;
  struct contract *c = bpf_map_lookup_elem(&contracts, &k);
  struct state *s = bpf_map_lookup_elem(&states, &k);
  if (ip->protocol != 17 || !c || !s) { set_tos(ip, 0); return unadmitted(ctx->ingress_ifindex, P_BE); }

  __u64 now = bpf_ktime_get_ns(), seq;
  __u8 v;
  bpf_spin_lock(&s->lock);
  if (now < s->last) now = s->last; // another core was later at the clock but earlier at the lock
  s->last = now;
  seq = s->seq++;
  if (now < s->reject_until) {
    v = REST, s->rest++;
  } else if (now <= s->open_until && b <= s->left) {
    v = MORE, s->left -= b;
  } else if (b <= c->bytes && now + c->tol_ns >= s->next) {
    v = OPEN, s->left = c->bytes - b, s->open_until = now + c->win_ns, s->msgs++;
    s->next = (now > s->next ? now : s->next) + c->sep_ns;
  } else { // refuse the rest of this message too, not a random part of it
    if (now <= s->open_until) v = CUT, s->cut++;
    else v = EARLY, s->early++;
    s->left = 0, s->open_until = 0, s->reject_until = now + c->win_ns;
  }
  if (v <= MORE) s->frames++, s->bytes += b;
  bpf_spin_unlock(&s->lock);

  if (log_on) {
    struct rec *r = bpf_ringbuf_reserve(&passlog, sizeof *r, 0);
    if (r) {
      __u64 *tag = (void *)(udp + 1);
      r->t = now, r->seq = seq, r->bytes = b, r->id = c->id, r->verdict = v, r->pad = 0, r->tag[0] = r->tag[1] = 0;
      if ((void *)(tag + 2) <= end) r->tag[0] = tag[0], r->tag[1] = tag[1];
      bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
    }
  }
  if (v > MORE) return XDP_DROP;
  set_tos(ip, c->tos);
  return XDP_PASS;
}

SEC("xdp") int drop_all(struct xdp_md *ctx) { return XDP_DROP; } // the control for "who sees a dropped frame"
SEC("classifier") int tc_drop_all(struct __sk_buff *skb) { return 2; }
char _license[] SEC("license") = "MIT";
