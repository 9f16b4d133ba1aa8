/* The raw limit of shared memory: a round trip by two words and a futex each, or by looking again and again; and a ring for many samples. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "measure.h"

#define LARGEST (1 << 20)
/* Samples in the ring; a power of two. */
#define PLACES 256
#define PLACE (1 << 16)

/* Each word in a cache line of its own. */
struct side {
  _Alignas(64) atomic_uint turn;
  _Alignas(64) unsigned char data[LARGEST];
};

struct ring {
  _Alignas(64) atomic_ullong written;
  _Alignas(64) atomic_ullong taken;
  _Alignas(64) unsigned char data[PLACES][PLACE];
};

struct shared {
  struct side ping, pong;
  struct ring ring;
  _Alignas(64) atomic_uint early;
};

static const char *const NAME = "/raw-memory";
static struct shared *shared;
static struct task task;
static unsigned char *own;

/* The side that is started first makes it anew. */
static void map(bool make) {
  if (make) shm_unlink(NAME);
  int file = shm_open(NAME, O_RDWR | (make ? O_CREAT | O_EXCL : 0), 0600);
  if (file < 0) fail("shm_open: %s", strerror(errno));
  if (make && ftruncate(file, sizeof *shared) != 0) fail("ftruncate: %s", strerror(errno));
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (shared == MAP_FAILED) fail("mmap: %s", strerror(errno));
  close(file);
}

static void wake(atomic_uint *word) {
  syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Waits until the word is another one; false if an end is wished for. */
static bool await(atomic_uint *word, unsigned old) {
  while (atomic_load_explicit(word, memory_order_acquire) == old) {
    if (task.wake == SPIN) {
      __builtin_ia32_pause();
      if (atomic_load_explicit(&ends, memory_order_relaxed)) return false;
    } else {
      struct timespec look = { 0, 50 * MILLISECOND };
      syscall(SYS_futex, word, FUTEX_WAIT, old, &look, NULL, 0);
      if (atomic_load(&ends)) return false;
    }
  }
  return true;
}

static void give(struct side *side, const unsigned char *data) {
  memcpy(side->data, data, task.size);
  atomic_fetch_add_explicit(&side->turn, 1, memory_order_release);
  if (task.wake != SPIN) wake(&side->turn);
}

static void ping(void) {
  struct trips trips;
  trips_new(&trips, &task);
  uint64_t next = trips_begin(&trips);
  while (next != 0) {
    memcpy(own, &next, sizeof next);
    unsigned old = atomic_load(&shared->pong.turn);
    give(&shared->ping, own);
    if (!await(&shared->pong.turn, old)) break;
    memcpy(own, shared->pong.data, task.size);
    memcpy(&next, own, sizeof next);
    next = trips_back(&trips, next);
  }
  trips_say(&trips);
}

static void pong(void) {
  unsigned old = 0;
  say("ready");
  while (await(&shared->ping.turn, old)) {
    old++;
    memcpy(own, shared->ping.data, task.size);
    give(&shared->pong, own);
  }
  answered();
}

/* Spins while the ring is full: both sides have a core of their own. The sample is written in place. */
static bool write_place(uint64_t number) {
  uint64_t at = atomic_load_explicit(&shared->ring.written, memory_order_relaxed);
  while (at - atomic_load_explicit(&shared->ring.taken, memory_order_acquire) >= PLACES) {
    if (atomic_load_explicit(&ends, memory_order_relaxed)) return false;
    __builtin_ia32_pause();
  }
  unsigned char *place = shared->ring.data[at % PLACES];
  memset(place, FILLING, task.size);
  memcpy(place, &number, sizeof number);
  atomic_store_explicit(&shared->ring.written, at + 1, memory_order_release);
  return true;
}

static void sub(void) {
  struct counter counter = { .size = task.size };
  say("ready");
  uint64_t at = 0;
  while (!silent(counter.count)) {
    while (at != atomic_load_explicit(&shared->ring.written, memory_order_acquire)) {
      uint64_t number;
      const unsigned char *place = shared->ring.data[at % PLACES];
      memcpy(&number, place, sizeof number);
      memcpy(own, place, task.size);
      atomic_store_explicit(&shared->ring.taken, ++at, memory_order_release);
      counter_add(&counter, number, own, task.size);
    }
    counter_idle(&counter);
    __builtin_ia32_pause();
  }
  counter_say(&counter);
}

int main(int count, char **words) {
  task = asked(count, words);
  bool rates = task.role == PUB || task.role == SUB, starts = task.role == EARLY || task.role == FIRST;
  if (!task.memory && !starts) cannot("it is for shared memory");
  if (task.size > (rates ? PLACE : LARGEST)) cannot("the sample is too large for it");
  watch_input();
  own = malloc(task.size);
  if (!own) fail("no memory");
  memset(own, FILLING, task.size);
  map(task.role == PONG || task.role == SUB || task.role == EARLY);
  switch (task.role) {
    case PING: ping(); break;
    case PONG: pong(); break;
    case PUB: publish(&task, write_place, NULL); break;
    case SUB: sub(); break;
    case EARLY:
      say("ready");
      while (!atomic_load(&ends)) {
        atomic_fetch_add(&shared->early, 1);
        wake(&shared->early);
        rest(MILLISECOND);
      }
      break;
    case FIRST:
      if (await(&shared->early, atomic_load(&shared->early))) say("result {\"kind\":\"first\"}");
      break;
  }
  return 0;
}
