// Fast DDS as a driver: its defaults, over UDP alone or shared memory alone, with listeners or a WaitSet. It sends from the thread that writes.
#include <fastcdr/Cdr.h>
#include <fastcdr/FastBuffer.h>
#include <fastdds/dds/core/condition/WaitSet.hpp>
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastdds/rtps/transport/shared_mem/SharedMemTransportDescriptor.h>

#include "measure.h"

namespace fast = eprosima::fastdds::dds;
namespace rtps = eprosima::fastrtps::rtps;
using eprosima::fastcdr::Cdr;
using eprosima::fastcdr::FastBuffer;
using eprosima::fastrtps::types::ReturnCode_t;

static const uint32_t DOMAIN = 7;
// Without a limit, work at each sample grows with the history.
static const int32_t HELD = 2000;
// Octets of shared memory: the default of 512 KiB holds 32 samples of 16 KiB.
static const uint32_t SEGMENT = 16 << 20;

static struct task task;

// Readers look into the memory of the writer's history: twice the rate, but round trips are slower than through the transport.
static bool shares() { return task.memory && (task.role == PUB || task.role == SUB); }

struct Message {
  uint32_t number = 0;
  std::vector<uint8_t> data;
};

class MessageType : public fast::TopicDataType {
 public:
  explicit MessageType(size_t size) {
    setName("Message");
    // Encapsulation, number, length.
    m_typeSize = static_cast<uint32_t>(size + 16);
    auto_fill_type_object(false);
    auto_fill_type_information(false);
  }

  bool serialize(void* from, rtps::SerializedPayload_t* payload) override {
    const auto* message = static_cast<Message*>(from);
    FastBuffer buffer(reinterpret_cast<char*>(payload->data), payload->max_size);
    Cdr cdr(buffer, Cdr::LITTLE_ENDIANNESS, Cdr::DDS_CDR);
    payload->encapsulation = CDR_LE;
    try {
      cdr.serialize_encapsulation();
      cdr << message->number << message->data;
    } catch (const eprosima::fastcdr::exception::Exception&) {
      return false;
    }
    payload->length = static_cast<uint32_t>(cdr.getSerializedDataLength());
    return true;
  }

  bool deserialize(rtps::SerializedPayload_t* payload, void* to) override {
    auto* message = static_cast<Message*>(to);
    FastBuffer buffer(reinterpret_cast<char*>(payload->data), payload->length);
    Cdr cdr(buffer, Cdr::LITTLE_ENDIANNESS, Cdr::DDS_CDR);
    try {
      cdr.read_encapsulation();
      cdr >> message->number >> message->data;
    } catch (const eprosima::fastcdr::exception::Exception&) {
      return false;
    }
    return true;
  }

  std::function<uint32_t()> getSerializedSizeProvider(void* from) override {
    const auto size = static_cast<uint32_t>(static_cast<Message*>(from)->data.size() + 16);
    return [size] { return size; };
  }

  // What is not has no place in that memory.
  bool is_bounded() const override { return shares(); }

  void* createData() override { return new Message; }
  void deleteData(void* message) override { delete static_cast<Message*>(message); }
  bool getKey(void*, rtps::InstanceHandle_t*, bool) override { return false; }
};

static struct trips trips;
static struct counter counter;
static fast::DomainParticipant* participant;
static fast::DataWriter* writer;
static fast::DataReader* reader;
static Message out, in;
static bool shouted;

template <class Qos>
static Qos terms(Qos qos) {
  qos.reliability().kind = fast::RELIABLE_RELIABILITY_QOS;
  qos.reliability().max_blocking_time = {10, 0};
  qos.durability().kind = fast::VOLATILE_DURABILITY_QOS;
  if (task.role == PING || task.role == PONG) {
    qos.history().kind = fast::KEEP_LAST_HISTORY_QOS;
    qos.history().depth = 1;
  } else {
    qos.history().kind = fast::KEEP_ALL_HISTORY_QOS;
    qos.resource_limits().max_samples = HELD;
    qos.resource_limits().max_instances = 1;
    qos.resource_limits().max_samples_per_instance = HELD;
    qos.resource_limits().allocated_samples = 100;
  }
  qos.endpoint().history_memory_policy =
      shares() ? rtps::PREALLOCATED_MEMORY_MODE : rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
  if (shares()) qos.data_sharing().on("/dev/shm");
  return qos;
}

static fast::Topic* topic(const char* name) {
  fast::Topic* made = participant->create_topic(name, "Message", fast::TOPIC_QOS_DEFAULT);
  if (!made) fail("no topic");
  return made;
}

static void make_writer(const char* name) {
  auto qos = terms(fast::DATAWRITER_QOS_DEFAULT);
  // The default of 3 s lets a full history wait that long.
  qos.reliable_writer_qos().times.heartbeatPeriod = {0, 10000000};
  writer = participant->create_publisher(fast::PUBLISHER_QOS_DEFAULT)->create_datawriter(topic(name), qos);
  if (!writer) fail("no writer");
}

static bool write_load(uint64_t number) {
  out.number = static_cast<uint32_t>(number);
  return writer->write(&out);
}

static void write_number(uint64_t number) {
  if (!write_load(number)) fail("write: no room for one sample");
}

static void settle() {
  if (writer->wait_for_acknowledgments({10, 0}) != ReturnCode_t::RETCODE_OK) fail("not all was acknowledged within 10 s");
}

// What each role does with a sample.
static void sample() {
  switch (task.role) {
    case PING: {
      const uint64_t next = trips_back(&trips, in.number);
      if (next != 0) write_number(next);
      break;
    }
    case PONG:
      if (!writer->write(&in)) fail("write: no room for an answer");
      break;
    case SUB: counter_add(&counter, in.number, in.data.data(), in.data.size()); break;
    case FIRST:
      if (!shouted) say("result {\"kind\":\"first\"}");
      shouted = true;
      break;
    default: break;
  }
}

static void take(fast::DataReader* from) {
  fast::SampleInfo info;
  while (from->take_next_sample(&in, &info) == ReturnCode_t::RETCODE_OK)
    if (info.valid_data) sample();
  if (task.role == SUB) counter_idle(&counter);
}

class Listener : public fast::DataReaderListener {
  void on_data_available(fast::DataReader* from) override { take(from); }
};

static void make_reader(const char* name) {
  static Listener listener;
  reader = participant->create_subscriber(fast::SUBSCRIBER_QOS_DEFAULT)
               ->create_datareader(topic(name), terms(fast::DATAREADER_QOS_DEFAULT),
                                   task.wake == LISTENER ? &listener : nullptr);
  if (!reader) fail("no reader");
}

static void turns(bool (*over)()) {
  fast::WaitSet waits;
  if (task.wake == WAITSET) {
    reader->get_statuscondition().set_enabled_statuses(fast::StatusMask::data_available());
    waits.attach_condition(reader->get_statuscondition());
  }
  while (!over()) {
    if (task.wake == LISTENER) {
      rest(50 * MILLISECOND);
      continue;
    }
    fast::ConditionSeq active;
    waits.wait(active, {0, 50000000});
    take(reader);
  }
}

static bool ended() { return atomic_load(&ends); }

// A listener writes the count; a value that is a moment old does no harm here.
static bool silence() { return silent(*static_cast<volatile uint64_t*>(&counter.count)); }

static bool trips_over() {
  if (trips_stalled(&trips)) write_number(trips_begin(&trips));
  return ended() || trips_done(&trips);
}

static void meet(bool both) {
  const uint64_t start = now();
  for (;;) {
    fast::PublicationMatchedStatus written;
    fast::SubscriptionMatchedStatus read;
    read.current_count = 1;
    writer->get_publication_matched_status(written);
    if (both) reader->get_subscription_matched_status(read);
    if (written.current_count > 0 && read.current_count > 0) break;
    if (now() - start > MEETING) fail("the other side was not found");
    rest(MILLISECOND);
  }
  rest(CALM);
}

int main(int count, char** words) {
  task = asked(count, words);
  if (task.wake == SPIN) cannot("Fast DDS has no reader that spins");
  if (task.batched) cannot("Fast DDS does not batch without a flow controller");
  watch_input();
  out.data.assign(task.size, FILLING);
  counter.size = task.size;
  trips_new(&trips, &task);
  fast::DomainParticipantQos qos = fast::PARTICIPANT_QOS_DEFAULT;
  qos.transport().use_builtin_transports = false;
  if (task.memory) {
    auto shared = std::make_shared<eprosima::fastdds::rtps::SharedMemTransportDescriptor>();
    shared->segment_size(SEGMENT);
    qos.transport().user_transports.push_back(shared);
  } else {
    qos.transport().user_transports.push_back(std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>());
  }
  participant = fast::DomainParticipantFactory::get_instance()->create_participant(DOMAIN, qos);
  if (!participant) fail("no participant");
  fast::TypeSupport(new MessageType(task.size)).register_type(participant);
  switch (task.role) {
    case PING:
      make_writer("PING");
      make_reader("PONG");
      meet(true);
      if (task.wake == LISTENER) {
        trips_wait(&trips, write_number);
      } else {
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
  // Its own end takes a while, and nothing is measured any more.
  fflush(stdout);
  _exit(0);
}
