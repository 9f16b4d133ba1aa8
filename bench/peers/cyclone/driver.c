/* Cyclone DDS as a driver: its defaults, on the interface that there is. */
#include <dds/dds.h>

#include "measure.h"
#include "message.h"

#define DOMAIN 7
#define EACH 64

static struct task task;
static dds_entity_t participant, writer, reader;
static struct trips trips;
static struct counter counter;
static Message out;
static bool shouted;

static dds_entity_t made(dds_entity_t entity, const char *what) {
  if (entity < 0) fail("%s: %s", what, dds_strretcode(entity));
  return entity;
}

static dds_entity_t topic(const char *name) {
  return made(dds_create_topic(participant, &Message_desc, name, NULL, NULL), "topic");
}

static dds_qos_t *qos(void) {
  dds_qos_t *qos = dds_create_qos();
  dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_SECS(10));
  dds_qset_durability(qos, DDS_DURABILITY_VOLATILE);
  if (task.role == PING || task.role == PONG) dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, 1);
  else dds_qset_history(qos, DDS_HISTORY_KEEP_ALL, DDS_LENGTH_UNLIMITED);
  return qos;
}

static void make_writer(const char *name) {
  dds_qos_t *terms = qos();
  /* For all writers of the process that come after it. */
  if (task.batched) dds_write_set_batch(true);
  writer = made(dds_create_writer(participant, topic(name), terms, NULL), "writer");
  dds_delete_qos(terms);
}

static void write_number(uint64_t number) {
  out.number = (uint32_t)number;
  dds_return_t done = dds_write(writer, &out);
  if (done != DDS_RETCODE_OK) fail("write: %s", dds_strretcode(done));
}

static bool write_load(uint64_t number) {
  out.number = (uint32_t)number;
  dds_return_t done = dds_write(writer, &out);
  if (done == DDS_RETCODE_TIMEOUT) return false;
  if (done != DDS_RETCODE_OK) fail("write: %s", dds_strretcode(done));
  return true;
}

static void settle(void) {
  dds_write_flush(writer);
  dds_return_t done = dds_wait_for_acks(writer, DDS_SECS(10));
  if (done != DDS_RETCODE_OK) fail("wait for acknowledgements: %s", dds_strretcode(done));
}

/* What each role does with a sample. */
static void sample(Message *message) {
  switch (task.role) {
    case PING: {
      uint64_t next = trips_back(&trips, message->number);
      if (next != 0) write_number(next);
      break;
    }
    case PONG:
      if (dds_write(writer, message) != DDS_RETCODE_OK) fail("write: no room for an answer");
      break;
    case SUB: counter_add(&counter, message->number, message->data._buffer, message->data._length); break;
    case FIRST:
      if (!shouted) say("result {\"kind\":\"first\"}");
      shouted = true;
      break;
    default: break;
  }
}

static void take(dds_entity_t from, void *unused) {
  (void)unused;
  static void *samples[EACH];
  dds_sample_info_t infos[EACH];
  dds_return_t count;
  while ((count = dds_take(from, samples, infos, EACH, EACH)) > 0) {
    for (dds_return_t at = 0; at < count; at++)
      if (infos[at].valid_data) sample(samples[at]);
    dds_return_loan(from, samples, count);
  }
  if (count < 0) fail("take: %s", dds_strretcode(count));
  if (task.role == SUB) counter_idle(&counter);
}

static void make_reader(const char *name) {
  dds_listener_t *listener = NULL;
  if (task.wake == LISTENER) {
    listener = dds_create_listener(NULL);
    dds_lset_data_available(listener, take);
  }
  dds_qos_t *terms = qos();
  reader = made(dds_create_reader(participant, topic(name), terms, listener), "reader");
  dds_delete_qos(terms);
  dds_delete_listener(listener);
}

/* Takes on the main thread, or waits while a listener does, until `over`. */
static void turns(bool (*over)(void)) {
  dds_entity_t waits = made(dds_create_waitset(participant), "waitset");
  if (task.wake == WAITSET) {
    dds_entity_t condition = made(dds_create_readcondition(reader, DDS_ANY_STATE), "condition");
    made(dds_waitset_attach(waits, condition, 0), "waitset");
  }
  while (!over()) {
    /* A WaitSet of nothing does not wait. */
    if (task.wake == LISTENER) {
      rest(50 * MILLISECOND);
      continue;
    }
    dds_attach_t active;
    dds_return_t count = dds_waitset_wait(waits, &active, 1, DDS_MSECS(50));
    if (count < 0) fail("wait: %s", dds_strretcode(count));
    take(reader, NULL);
  }
}

static bool ended(void) { return atomic_load(&ends); }

static bool silence(void) {
  /* A listener writes the count; a value that is a moment old does no harm here. */
  return silent(*(volatile uint64_t *)&counter.count);
}

static bool trips_over(void) {
  if (trips_stalled(&trips)) write_number(trips_begin(&trips));
  return ended() || trips_done(&trips);
}

static void meet(bool both) {
  uint64_t start = now();
  for (;;) {
    dds_publication_matched_status_t written;
    dds_subscription_matched_status_t read = { .current_count = 1 };
    made(dds_get_publication_matched_status(writer, &written), "status");
    if (both) made(dds_get_subscription_matched_status(reader, &read), "status");
    if (written.current_count > 0 && read.current_count > 0) break;
    if (now() - start > MEETING) fail("the other side was not found");
    rest(MILLISECOND);
  }
  rest(CALM);
}

int main(int count, char **words) {
  task = asked(count, words);
  if (task.memory) cannot("Debian's Cyclone DDS has shared memory only beside a daemon of iceoryx 2");
  if (task.wake == SPIN) cannot("Cyclone DDS has no reader that spins");
  watch_input();
  out.data._buffer = malloc(task.size);
  if (!out.data._buffer) fail("no memory");
  memset(out.data._buffer, FILLING, task.size);
  out.data._length = out.data._maximum = (uint32_t)task.size;
  counter.size = task.size;
  trips_new(&trips, &task);
  participant = made(dds_create_participant(DOMAIN, NULL, NULL), "participant");
  switch (task.role) {
    case PING:
      make_writer("PING");
      make_reader("PONG");
      meet(true);
      if (task.wake == LISTENER) trips_wait(&trips, write_number);
      else {
        write_number(trips_begin(&trips));
        turns(trips_over);
      }
      trips_say(&trips);
      break;
    case PONG:
      make_writer("PONG");
      make_reader("PING");
      say("ready");
      turns(ended);
      answered();
      break;
    case PUB:
      make_writer("LOAD");
      meet(false);
      publish(&task, write_load, settle);
      break;
    case SUB:
      make_reader("LOAD");
      say("ready");
      turns(silence);
      counter_say(&counter);
      break;
    case EARLY:
      make_writer("LOAD");
      say("ready");
      for (uint64_t number = 0; !ended(); number++) {
        write_number(number);
        rest(MILLISECOND);
      }
      break;
    case FIRST:
      make_reader("LOAD");
      turns(ended);
      break;
  }
  dds_delete(participant);
  return 0;
}
