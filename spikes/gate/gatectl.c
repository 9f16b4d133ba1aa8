// Loads the gate on switch ports, holds it for SECS or until a signal, prints counters. Everything dies with this process.
//   gatectl OBJ PROG native|generic SECS LOGFILE|- IF[,IF..] [IF:SADDR:SPORT:DADDR:DPORT:M_BYTES:T_US:J_US:W_US:TOS ...] [IF@FRAMES_PER_S:BURST ...]
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct key { __u32 ifindex, saddr, daddr; __u16 sport, dport; };
struct contract { __u64 sep, tol, win; __u32 bytes; __u16 id; __u8 tos, pad; };
struct port { __u32 lock, frame_ns; __u64 burst_ns, next; };
struct state { __u32 lock, left; __u64 next, open_until, reject_until, last, seq, msgs, frames, bytes, early, rest, cut; };
static volatile sig_atomic_t stop;
static FILE *out;
static unsigned long logged;
static void on_signal(int s) { (void)s; stop = 1; }
static int on_rec(void *c, void *d, size_t n) { (void)c; logged++; return fwrite(d, n, 1, out) == 1 ? 0 : -1; }
static void die(const char *what) { fprintf(stderr, "gatectl: %s: %s\n", what, strerror(errno)); exit(1); }

int main(int c, char **v) {
  if (c < 7) { errno = EINVAL; die("usage"); }
  struct sigaction sa = {.sa_handler = on_signal};
  sigaction(SIGINT, &sa, 0), sigaction(SIGTERM, &sa, 0);
  double secs = atof(v[4]);
  int logging = strcmp(v[5], "-");
  struct bpf_object *o = bpf_object__open(v[1]);
  if (!o) die("open object");
  struct bpf_map *ro = bpf_object__find_map_by_name(o, ".rodata"), *rb = bpf_object__find_map_by_name(o, "passlog");
  size_t sz;
  if (logging) *(__u32 *)bpf_map__initial_value(ro, &sz) = 1;
  struct bpf_program *p, *want = bpf_object__find_program_by_name(o, v[2]);
  if (!want) die("program name");
  bpf_object__for_each_program(p, o) bpf_program__set_autoload(p, p == want);
  if (bpf_object__load(o)) die("load");
  int stats = bpf_enable_stats(BPF_STATS_RUN_TIME); // ends with this fd
  int cm = bpf_object__find_map_fd_by_name(o, "contracts"), sm = bpf_object__find_map_fd_by_name(o, "states");
  for (int i = 7; i < c; i++) {
    char ifn[16], sa4[32], da4[32];
    unsigned sp, dp, m, tos;
    double t, j, w;
    if (strchr(v[i], '@')) {
      if (sscanf(v[i], "%15[^@]@%lf:%lf", ifn, &t, &j) != 3) die(v[i]);
      __u32 x = if_nametoindex(ifn);
      struct port p = {.frame_ns = 1e9 / t, .burst_ns = 1e9 / t * j};
      if (bpf_map_update_elem(bpf_object__find_map_fd_by_name(o, "ports"), &x, &p, 0)) die("port update");
      continue;
    }
    if (sscanf(v[i], "%15[^:]:%31[^:]:%u:%31[^:]:%u:%u:%lf:%lf:%lf:%u", ifn, sa4, &sp, da4, &dp, &m, &t, &j, &w, &tos) != 10) die(v[i]);
    struct key k = {.ifindex = if_nametoindex(ifn), .saddr = inet_addr(sa4), .daddr = inet_addr(da4), .sport = htons(sp), .dport = htons(dp)};
    struct contract x = {.sep = t * 1e3, .tol = j * 1e3, .win = w * 1e3, .bytes = m, .id = i - 7, .tos = tos};
    struct state z = {0};
    if (bpf_map_update_elem(sm, &k, &z, 0) || bpf_map_update_elem(cm, &k, &x, 0)) die("map update");
  }
  LIBBPF_OPTS(bpf_link_create_opts, lo, .flags = strcmp(v[3], "native") ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE);
  for (char *n = strtok(v[6], ","); n; n = strtok(0, ","))
    if (bpf_link_create(bpf_program__fd(want), if_nametoindex(n), BPF_XDP, &lo) < 0) die(n);
  struct ring_buffer *r = 0;
  if (logging) {
    if (!(out = fopen(v[5], "wb"))) die(v[5]);
    setvbuf(out, 0, _IOFBF, 1 << 20);
    r = ring_buffer__new(bpf_map__fd(rb), on_rec, 0, 0);
  }
  printf("ready\n"), fflush(stdout);
  struct timespec t0, t1;
  clock_gettime(CLOCK_MONOTONIC, &t0);
  do {
    usleep(2000);
    if (r) ring_buffer__consume(r);
    clock_gettime(CLOCK_MONOTONIC, &t1);
  } while (!stop && t1.tv_sec - t0.tv_sec < secs);
  if (r) ring_buffer__consume(r), fclose(out);
  struct key k, *prev = 0;
  unsigned long seen = 0;
  for (; !bpf_map_get_next_key(cm, prev, &k); prev = &k) {
    struct contract x;
    struct state s;
    if (bpf_map_lookup_elem(cm, &k, &x) || bpf_map_lookup_elem(sm, &k, &s)) continue;
    seen += s.seq;
    printf("flow %u port %u passed: msgs %llu frames %llu bytes %llu dropped: early %llu rest %llu cut %llu\n", x.id, ntohs(k.dport),
           s.msgs, s.frames, s.bytes, s.early, s.rest, s.cut);
  }
  int ncpu = libbpf_num_possible_cpus(), pm = bpf_object__find_map_fd_by_name(o, "policy");
  const char *names[] = {"best-effort", "fragment", "too-long", "tagged", "other", "over-limit"};
  printf("others:");
  for (__u32 i = 0; i < 6; i++) {
    __u64 x[ncpu], sum = 0;
    if (!bpf_map_lookup_elem(pm, &i, x)) for (int q = 0; q < ncpu; q++) sum += x[q];
    printf(" %s %llu", names[i], sum);
  }
  struct bpf_prog_info info = {0};
  __u32 il = sizeof info;
  bpf_obj_get_info_by_fd(bpf_program__fd(want), &info, &il);
  printf("\ncost: runs %llu ns/run %.0f%s\n", info.run_cnt, info.run_cnt ? (double)info.run_time_ns / info.run_cnt : 0, stats < 0 ? " (no stats)" : "");
  if (logging) printf("log: %lu of %lu\n", logged, seen);
  return 0;
}
