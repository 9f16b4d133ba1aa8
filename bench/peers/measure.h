/* What all drivers in C have in common: what they are asked, how they count, and how they say it. docs/compare.md has the words. */
#ifndef MEASURE_H
#define MEASURE_H
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#ifdef __cplusplus
#include <atomic>
using std::atomic_bool;
using std::atomic_load;
using std::atomic_load_explicit;
using std::atomic_store;
using std::memory_order_relaxed;
#else
#include <stdatomic.h>
#endif

enum role { PING, PONG, PUB, SUB, EARLY, FIRST };
enum wake { LISTENER, WAITSET, SPIN };

/* What a driver was asked; times in nanoseconds. */
struct task {
  enum role role;
  size_t size, count, warm_up;
  uint64_t time;
  enum wake wake;
  bool memory, batched;
};

#define MILLISECOND UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)
/* The same as in the drivers in Rust. */
#define MEETING (10 * SECOND)
#define CALM (300 * MILLISECOND)
#define LOST SECOND
#define SILENCE (300 * MILLISECOND)
#define LAST 5

/* What every octet of a sample is behind the first eight, which are its number where that has no place of its own. */
#define FILLING 0x5a
#define NUMBER 8

static atomic_bool ends;

static inline uint64_t now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (uint64_t)at.tv_sec * SECOND + (uint64_t)at.tv_nsec;
}

static inline void rest(uint64_t time) {
  struct timespec wait = { (time_t)(time / SECOND), (long)(time % SECOND) };
  nanosleep(&wait, NULL);
}

__attribute__((noreturn, format(printf, 1, 2))) static inline void fail(const char *text, ...) {
  va_list rest;
  va_start(rest, text);
  vfprintf(stderr, text, rest);
  fputc('\n', stderr);
  va_end(rest);
  _exit(1);
}

__attribute__((format(printf, 1, 2))) static inline void say(const char *text, ...) {
  va_list rest;
  va_start(rest, text);
  vprintf(text, rest);
  va_end(rest);
  if (putchar('\n') == EOF || fflush(stdout) != 0) _exit(1);
}

__attribute__((noreturn)) static inline void cannot(const char *reason) {
  say("cannot %s", reason);
  exit(0);
}

static inline uint64_t number_in(const char *word, const char *value) {
  char *end;
  errno = 0;
  unsigned long long number = strtoull(value, &end, 10);
  if (errno != 0 || end == value || *end != 0 || *value == '-') fail("%s: not a number", word);
  return number;
}

static inline struct task asked(int count, char **words) {
  static const char *const roles[] = { "ping", "pong", "pub", "sub", "early", "first" };
  static const char *const wakes[] = { "listener", "waitset", "spin" };
  struct task task = { PING, 64, 1000, 100, SECOND, LISTENER, false, false };
  if (count < 2) fail("give a role");
  size_t role = 0;
  while (role < 6 && strcmp(words[1], roles[role]) != 0) role++;
  if (role == 6) fail("there is no role %s", words[1]);
  task.role = (enum role)role;
  for (int at = 2; at < count; at++) {
    const char *value = strchr(words[at], '=');
    if (!value) fail("%s is not name=value", words[at]);
    size_t length = (size_t)(value++ - words[at]);
#define IS(name) (length == sizeof name - 1 && strncmp(words[at], name, length) == 0)
    if (IS("size")) task.size = number_in(words[at], value);
    else if (IS("count")) task.count = number_in(words[at], value);
    else if (IS("warm_up")) task.warm_up = number_in(words[at], value);
    else if (IS("milliseconds")) task.time = number_in(words[at], value) * MILLISECOND;
    else if (IS("memory")) task.memory = number_in(words[at], value) != 0;
    else if (IS("batched")) task.batched = number_in(words[at], value) != 0;
    else if (IS("wake")) {
      size_t wake = 0;
      while (wake < 3 && strcmp(value, wakes[wake]) != 0) wake++;
      if (wake == 3) fail("there is no wake %s", value);
      task.wake = (enum wake)wake;
    } else fail("there is no %s", words[at]);
#undef IS
  }
  if (task.size < 16 || task.size > 1 << 24 || task.count < 1 || task.count > 10000000)
    fail("size is 16 to 16 Mi, count 1 to 10 million");
  return task;
}

static void *read_input(void *unused) {
  (void)unused;
  char bytes[64];
  while (read(0, bytes, sizeof bytes) > 0) {}
  atomic_store(&ends, true);
  sleep(LAST);
  _exit(1);
}

/* Sets `ends` at the end of the standard input, which is the wish for an end; a driver that does not follow it is ended. */
static inline void watch_input(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, read_input, NULL) != 0) fail("no thread for the input");
  pthread_detach(thread);
}

static inline uint64_t processor(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * SECOND +
         ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * 1000;
}

/* Not from getrusage, which counts what the parent had before the program began. */
static inline uint64_t memory(void) {
  char line[256];
  unsigned long long kibibytes = 0;
  FILE *file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "VmHWM: %llu", &kibibytes) == 1) break;
  if (file) fclose(file);
  return kibibytes * 1024;
}

/* Round trips: whoever takes an answer says so, and is told the next number to write. */
struct trips {
  pthread_mutex_t lock;
  pthread_cond_t over;
  uint64_t *times;
  size_t have, count, warm_up;
  uint64_t next, sent, stalls, processor;
};

static inline void trips_new(struct trips *trips, const struct task *task) {
  memset(trips, 0, sizeof *trips);
  pthread_mutex_init(&trips->lock, NULL);
  pthread_cond_init(&trips->over, NULL);
  trips->times = (uint64_t *)malloc(task->count * sizeof *trips->times);
  if (!trips->times) fail("no memory");
  trips->count = task->count;
  trips->warm_up = task->warm_up;
  trips->processor = processor();
}

static inline uint64_t trips_begin(struct trips *trips) {
  pthread_mutex_lock(&trips->lock);
  uint64_t next = ++trips->next;
  trips->sent = now();
  pthread_mutex_unlock(&trips->lock);
  return next;
}

/* 0 if that was the last, or not the one that is waited for. */
static inline uint64_t trips_back(struct trips *trips, uint64_t number) {
  uint64_t at = now(), next = 0;
  pthread_mutex_lock(&trips->lock);
  if (number == trips->next && trips->have < trips->count) {
    if (trips->warm_up == 0) trips->times[trips->have++] = at - trips->sent;
    else if (--trips->warm_up == 0) trips->processor = processor();
    if (trips->have == trips->count) {
      pthread_cond_broadcast(&trips->over);
    } else {
      next = ++trips->next;
      trips->sent = now();
    }
  }
  pthread_mutex_unlock(&trips->lock);
  return next;
}

static inline bool trips_done(struct trips *trips) {
  pthread_mutex_lock(&trips->lock);
  bool done = trips->have == trips->count;
  pthread_mutex_unlock(&trips->lock);
  return done;
}

/* True if the sample that is waited for is lost. */
static inline bool trips_stalled(struct trips *trips) {
  pthread_mutex_lock(&trips->lock);
  bool stalled = trips->have < trips->count && now() - trips->sent >= LOST;
  trips->stalls += stalled;
  pthread_mutex_unlock(&trips->lock);
  return stalled;
}

/* Waits until all is done while another thread takes the answers. */
static inline void trips_wait(struct trips *trips, void (*write)(uint64_t)) {
  write(trips_begin(trips));
  while (!trips_done(trips) && !atomic_load(&ends)) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec++;
    pthread_mutex_lock(&trips->lock);
    if (trips->have < trips->count) pthread_cond_timedwait(&trips->over, &trips->lock, &end);
    pthread_mutex_unlock(&trips->lock);
    if (trips_stalled(trips)) write(trips_begin(trips));
  }
}

static int by_size(const void *one, const void *other) {
  uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
  return (a > b) - (a < b);
}

static inline uint64_t trips_at(const struct trips *trips, size_t permyriad) {
  size_t rank = (trips->have * permyriad + 9999) / 10000;
  return trips->have == 0 ? 0 : trips->times[rank == 0 ? 0 : rank - 1];
}

static inline void trips_say(struct trips *trips) {
  uint64_t used = processor() - trips->processor;
  qsort(trips->times, trips->have, sizeof *trips->times, by_size);
  say("result {\"kind\":\"round_trips\",\"count\":%zu,\"stalls\":%" PRIu64 ",\"processor_ns\":%" PRIu64 ",\"memory\":%" PRIu64
      ",\"min_ns\":%" PRIu64 ",\"p50_ns\":%" PRIu64 ",\"p90_ns\":%" PRIu64 ",\"p99_ns\":%" PRIu64 ",\"p999_ns\":%" PRIu64
      ",\"max_ns\":%" PRIu64 "}",
      trips->have, trips->stalls, used, memory(), trips_at(trips, 0), trips_at(trips, 5000), trips_at(trips, 9000),
      trips_at(trips, 9900), trips_at(trips, 9990), trips_at(trips, 10000));
}

/* Writes as fast as it can for the time that was asked for; `write` gives false if there was no room. */
static inline void publish(const struct task *task, bool (*write)(uint64_t), void (*settle)(void)) {
  uint64_t start = now(), before = processor(), count = 0, refused = 0;
  /* The clock is read now and then: it would be a part of what is measured. */
  while (!atomic_load_explicit(&ends, memory_order_relaxed) && (count % 64 != 0 || now() - start < task->time)) {
    if (write(count)) count++;
    else if (refused++, now() - start >= task->time + LAST * SECOND) break;
  }
  if (settle) settle();
  say("result {\"kind\":\"written\",\"count\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"time_ns\":%" PRIu64 ",\"processor_ns\":%" PRIu64
      ",\"memory\":%" PRIu64 "}",
      count, refused, now() - start, processor() - before, memory());
}

/* Samples that are taken. */
struct counter {
  uint64_t count, told, greatest, wrong, first, last, processor;
  size_t size;
};

/* Whether a sample is as it was written. */
static inline bool is_whole(const unsigned char *data, size_t size) {
  uint64_t filled, word, wrong = 0;
  size_t at = NUMBER;
  memset(&filled, FILLING, sizeof filled);
  for (; at + sizeof word <= size; at += sizeof word) {
    memcpy(&word, data + at, sizeof word);
    wrong |= word ^ filled;
  }
  for (; at < size; at++) wrong |= data[at] ^ FILLING;
  return wrong == 0;
}

/* One more, with these bytes. All of them are looked at, so that what it costs to have them here is measured. */
static inline void counter_add(struct counter *counter, uint64_t number, const unsigned char *data, size_t size) {
  if (counter->first == 0) {
    counter->first = now();
    counter->processor = processor();
  }
  counter->count++;
  counter->wrong += size != counter->size || !is_whole(data, size);
  if (number > counter->greatest) counter->greatest = number;
  if (counter->count % 64 == 0) counter->last = now();
}

/* All that had come was taken. */
static inline void counter_idle(struct counter *counter) {
  if (counter->told != counter->count) {
    counter->told = counter->count;
    counter->last = now();
  }
}

static inline void counter_say(const struct counter *counter) {
  uint64_t time = counter->last > counter->first ? counter->last - counter->first : 0;
  say("result {\"kind\":\"taken\",\"count\":%" PRIu64 ",\"greatest\":%" PRIu64 ",\"wrong\":%" PRIu64 ",\"time_ns\":%" PRIu64
      ",\"processor_ns\":%" PRIu64 ",\"memory\":%" PRIu64 "}",
      counter->count, counter->greatest, counter->wrong, time, counter->first ? processor() - counter->processor : 0, memory());
}

/* True once an end is wished for and nothing has come for a while. */
static inline bool silent(uint64_t count) {
  static uint64_t before, since;
  if (count != before || since == 0) {
    before = count;
    since = now();
    return false;
  }
  return atomic_load(&ends) && now() - since >= SILENCE;
}

static inline void answered(void) {
  say("result {\"kind\":\"answered\",\"processor_ns\":%" PRIu64 ",\"memory\":%" PRIu64 "}", processor(), memory());
}
#endif
