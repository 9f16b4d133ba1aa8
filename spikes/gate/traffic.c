// traffic send DST DPORT SPORT DSCP grid|sep|pair|burst T_US K LEN MSGS [frame GAP_US]   one message = K datagrams of LEN payload bytes
//   grid: message n at start + n T (late ones are caught up);  sep: at least T after the previous send call returned
//   pair: two messages back to back each T;  burst: random pause up to 2 T, then 1 to 3 K datagrams
//   with GSO set in the environment a message is one send call and the kernel cuts it into datagrams
// traffic recv PORT SECS LOGFILE|-      latency of whole messages, from the send call to the last datagram's kernel receive time
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
struct rec { uint64_t t, seq; uint32_t bytes; uint16_t id; uint8_t verdict, pad; uint64_t tag[2]; };
static uint64_t ns(clockid_t c) { struct timespec t; clock_gettime(c, &t); return t.tv_sec * 1000000000ull + t.tv_nsec; }
static uint64_t now(void) { return ns(CLOCK_MONOTONIC); }
static void until(uint64_t t) {
  struct timespec w = {t / 1000000000ull, t % 1000000000ull};
  if (t > now()) while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &w, 0) == EINTR);
}
static int cmp(const void *a, const void *b) { uint64_t x = *(uint64_t *)a, y = *(uint64_t *)b; return x < y ? -1 : x > y; }

static int sender(char **v, int c) {
  struct sockaddr_in d = {.sin_family = AF_INET, .sin_port = htons(atoi(v[3]))}, l = {.sin_family = AF_INET, .sin_port = htons(atoi(v[4]))};
  inet_pton(AF_INET, v[2], &d.sin_addr);
  int s = socket(AF_INET, SOCK_DGRAM, 0), tos = atoi(v[5]) << 2, sb = 4 << 20, one = 1, k = atoi(v[8]), len = atoi(v[9]);
  setsockopt(s, SOL_SOCKET, SO_SNDBUFFORCE, &sb, 4), setsockopt(s, SOL_SOCKET, SO_REUSEPORT, &one, 4), setsockopt(s, IPPROTO_IP, IP_TOS, &tos, 4);
  if (bind(s, (void *)&l, sizeof l) || connect(s, (void *)&d, sizeof d)) return perror("socket"), 1;
  char mode = v[6][0];
  uint64_t T = atof(v[7]) * 1e3, msgs = atoll(v[10]), gap = c > 11 ? atof(v[11]) * 1e3 : 0, err = 0, late = 0, frames = 0;
  static char buf[192][1500], *flat = (char *)buf;
  int gso = getenv("GSO") != 0; // one send call, cut into datagrams by the kernel
  if (gso && setsockopt(s, 17, 103, &len, 4)) return perror("UDP_SEGMENT"), 1;
  struct mmsghdr m[192];
  struct iovec io[192];
  memset(m, 0, sizeof m);
  srandom(l.sin_port + msgs);
  uint64_t t0 = now() + 1000000, next = t0;
  for (uint64_t n = 0; n < msgs; n++) {
    until(next);
    int kk = mode == 'b' ? 1 + random() % (3 * k) : k;
    uint64_t t = now();
    if (t > next + 500000) late++;
    for (int i = 0; i < kk; i++) {
      uint64_t tag[2] = {n << 16 | i << 8 | kk, t};
      memcpy(gso ? flat + i * len : buf[i], tag, 16);
      io[i] = (struct iovec){buf[i], len}, m[i].msg_hdr.msg_iov = &io[i], m[i].msg_hdr.msg_iovlen = 1;
    }
    frames += kk;
    if (gso) { if (send(s, flat, kk * len, 0) < 0) err++; }
    else if (gap) for (int i = 0; i < kk; i++) { if (send(s, buf[i], len, 0) < 0) err++; if (i + 1 < kk) for (uint64_t e = now() + gap; now() < e;); }
    else for (int i = 0; i < kk;) { int r = sendmmsg(s, m + i, kk - i, 0); if (r <= 0) { err++; break; } i += r; }
    if (mode == 'g') next += T;
    else if (mode == 'p') next += n & 1 ? T : 0;
    else if (mode == 'b') next = now() + (T ? random() % (2 * T) : 0);
    else next = now() + T;
  }
  printf("sent %lu messages %lu frames err %lu late>0.5ms %lu in %.2f s\n", msgs, frames, err, late, (now() - t0) / 1e9);
  return 0;
}

static int receiver(char **v) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(atoi(v[2]))};
  int s = socket(AF_INET, SOCK_DGRAM, 0), rb = 16 << 20, one = 1;
  setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &rb, 4), setsockopt(s, SOL_SOCKET, SO_TIMESTAMPNS, &one, 4);
  struct timeval tv = {0, 100000};
  setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
  if (bind(s, (void *)&a, sizeof a)) return perror("bind"), 1;
  FILE *f = strcmp(v[4], "-") ? fopen(v[4], "wb") : 0;
  uint64_t end = now() + atof(v[3]) * 1e9, off = ns(CLOCK_REALTIME) - now(), n = 0, whole = 0, broken = 0, cur = ~0ull, got = 0, cap = 4000000, top = 0;
  uint64_t *L = malloc(cap * 8);
  while (now() < end) {
    char b[2048], cb[128];
    struct iovec io = {b, sizeof b};
    struct msghdr h = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = cb, .msg_controllen = sizeof cb};
    ssize_t z = recvmsg(s, &h, 0);
    if (z < 16) continue;
    uint64_t t = now(), tag[2];
    for (struct cmsghdr *q = CMSG_FIRSTHDR(&h); q; q = CMSG_NXTHDR(&h, q))
      if (q->cmsg_type == SO_TIMESTAMPNS) { struct timespec ts; memcpy(&ts, CMSG_DATA(q), sizeof ts); t = ts.tv_sec * 1000000000ull + ts.tv_nsec - off; }
    memcpy(tag, b, 16);
    uint64_t msg = tag[0] >> 16, k = tag[0] & 255;
    if (f) { struct rec r = {t, n, (z + 42 < 60 ? 60 : z + 42) + 24, 0, 0, 0, {tag[0], tag[1]}}; fwrite(&r, sizeof r, 1, f); }
    n++;
    if (msg > top) top = msg;
    if (msg != cur) { if (got) broken++; cur = msg, got = 0; }
    if (++got == k) { if (whole < cap) L[whole] = t - tag[1]; whole++, got = 0; }
  }
  if (f) fclose(f);
  if (got) broken++;
  if (!whole) return printf("recv port %s: frames %lu whole 0 broken %lu\n", v[2], n, broken), 0;
  qsort(L, whole, 8, cmp);
#define P(q) (L[(uint64_t)((whole - 1) * (q))] / 1e3)
  printf("recv port %s: frames %lu messages whole %lu broken %lu missing %ld; us p50 %.0f p99 %.0f p99.9 %.0f max %.0f\n", v[2], n, whole, broken,
         (long)(top + 1 - whole - broken), P(.5), P(.99), P(.999), P(1));
  return 0;
}

int main(int c, char **v) {
  prctl(PR_SET_TIMERSLACK, 1);
  if (getenv("RT")) { struct sched_param p = {.sched_priority = atoi(getenv("RT"))}; if (sched_setscheduler(0, SCHED_FIFO, &p)) perror("sched"); mlockall(MCL_CURRENT | MCL_FUTURE); }
  if (c >= 11 && !strcmp(v[1], "send")) return sender(v, c);
  if (c == 5 && !strcmp(v[1], "recv")) return receiver(v);
  return fprintf(stderr, "usage: see the head of traffic.c\n"), 2;
}
