// Fast DDS behind the language of README.md.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <fastcdr/Cdr.h>
#include <fastcdr/FastBuffer.h>
#include <fastdds/dds/core/status/StatusMask.hpp>
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/DataWriterListener.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>
#include <fastrtps/utils/md5.h>

using namespace eprosima::fastdds::dds;
using eprosima::fastcdr::Cdr;
using eprosima::fastcdr::FastBuffer;
using eprosima::fastrtps::rtps::InstanceHandle_t;
using eprosima::fastrtps::rtps::SerializedPayload_t;
using eprosima::fastrtps::types::ReturnCode_t;

static void say(const std::string& line) {
    static std::mutex one_at_a_time;
    std::lock_guard<std::mutex> guard(one_at_a_time);
    std::cout << line << std::endl;
}

static uint32_t adler32(const std::vector<uint8_t>& octets) {
    uint32_t low = 1, high = 0;
    for (uint8_t octet : octets) {
        low = (low + octet) % 65521;
        high = (high + low) % 65521;
    }
    return high << 16 | low;
}

// A sample of any type; `name` travels as a string or a long, `value` as a long or a double.
struct Sample {
    std::string name;
    int32_t number = 0;
    double value = 0;
    std::vector<uint8_t> octets;
};

// What the types have in common.
class Type : public TopicDataType {
public:
    Type(const char* name, bool keyed) {
        setName(name);
        // Where histories start; they grow with the samples.
        m_typeSize = 1024;
        m_isGetKeyDefined = keyed;
        auto_fill_type_object(false);
        auto_fill_type_information(false);
    }

    virtual void write(Cdr& cdr, const Sample& sample) const = 0;
    virtual void read(Cdr& cdr, Sample& sample) const = 0;
    // The octets of the key, big endian; how many.
    virtual size_t write_key(Cdr& cdr, const Sample& sample) const {
        cdr << sample.name;
        return cdr.getSerializedDataLength();
    }
    virtual double value(int32_t number) const { return number + 0.25; }
    virtual const char* value_format() const { return "%.2f"; }

    bool serialize(void* data, SerializedPayload_t* payload) override {
        FastBuffer buffer(reinterpret_cast<char*>(payload->data), payload->max_size);
        Cdr cdr(buffer, Cdr::LITTLE_ENDIANNESS, Cdr::DDS_CDR);
        payload->encapsulation = CDR_LE;
        try {
            cdr.serialize_encapsulation();
            write(cdr, *static_cast<Sample*>(data));
        } catch (const eprosima::fastcdr::exception::Exception&) {
            return false;
        }
        payload->length = static_cast<uint32_t>(cdr.getSerializedDataLength());
        return true;
    }

    bool deserialize(SerializedPayload_t* payload, void* data) override {
        FastBuffer buffer(reinterpret_cast<char*>(payload->data), payload->length);
        Cdr cdr(buffer, Cdr::LITTLE_ENDIANNESS, Cdr::DDS_CDR);
        try {
            cdr.read_encapsulation();
            payload->encapsulation = cdr.endianness() == Cdr::BIG_ENDIANNESS ? CDR_BE : CDR_LE;
            read(cdr, *static_cast<Sample*>(data));
        } catch (const eprosima::fastcdr::exception::Exception&) {
            return false;
        }
        return true;
    }

    std::function<uint32_t()> getSerializedSizeProvider(void* data) override {
        const Sample* sample = static_cast<Sample*>(data);
        // Encapsulation, three lengths and the fixed members fit in 64 octets with all padding.
        return [sample] { return static_cast<uint32_t>(64 + sample->name.size() + sample->octets.size()); };
    }

    void* createData() override { return new Sample; }
    void deleteData(void* data) override { delete static_cast<Sample*>(data); }

    // Keys that may be longer than 16 octets are hashed, as those with a string are.
    bool getKey(void* data, InstanceHandle_t* handle, bool force_md5) override {
        if (!m_isGetKeyDefined) {
            return false;
        }
        const Sample* sample = static_cast<Sample*>(data);
        std::vector<char> octets(64 + sample->name.size());
        FastBuffer buffer(octets.data(), octets.size());
        Cdr cdr(buffer, Cdr::BIG_ENDIANNESS);
        size_t length = write_key(cdr, *sample);
        if (has_string_key() || force_md5) {
            MD5 md5;
            md5.init();
            md5.update(octets.data(), static_cast<unsigned int>(length));
            md5.finalize();
            std::copy(md5.digest, md5.digest + 16, octets.begin());
        }
        for (int at = 0; at < 16; ++at) {
            handle->value[at] = static_cast<uint8_t>(octets[at]);
        }
        return true;
    }

protected:
    virtual bool has_string_key() const { return true; }
};

class ShapeType : public Type {
public:
    ShapeType() : Type("ShapeType", true) {}
    void write(Cdr& cdr, const Sample& sample) const override {
        cdr << sample.name << sample.number << static_cast<int32_t>(sample.value) << int32_t(20) << sample.octets;
    }
    void read(Cdr& cdr, Sample& sample) const override {
        int32_t y = 0, shapesize = 0;
        cdr >> sample.name >> sample.number >> y >> shapesize >> sample.octets;
        sample.value = y;
    }
    double value(int32_t number) const override { return 3.0 * number; }
    const char* value_format() const override { return "%.0f"; }
};

class Reading : public Type {
public:
    Reading() : Type("Reading", false) {}
    void write(Cdr& cdr, const Sample& sample) const override {
        cdr << sample.name << sample.number << sample.value << sample.octets;
    }
    void read(Cdr& cdr, Sample& sample) const override {
        cdr >> sample.name >> sample.number >> sample.value >> sample.octets;
    }
};

class Track : public Type {
public:
    Track() : Type("Track", true) {}
    void write(Cdr& cdr, const Sample& sample) const override {
        cdr << static_cast<int32_t>(std::stol(sample.name)) << sample.number << sample.value << sample.octets;
    }
    void read(Cdr& cdr, Sample& sample) const override {
        int32_t id = 0;
        cdr >> id;
        sample.name = std::to_string(id);
        cdr >> sample.number >> sample.value >> sample.octets;
    }
    size_t write_key(Cdr& cdr, const Sample& sample) const override {
        cdr << static_cast<int32_t>(std::stol(sample.name));
        return cdr.getSerializedDataLength();
    }

protected:
    bool has_string_key() const override { return false; }
};

static Type* make_type(const std::string& kind) {
    if (kind == "keyed") {
        return new ShapeType;
    }
    if (kind == "keyless") {
        return new Reading;
    }
    return kind == "numbered" ? new Track : nullptr;
}

class WriterEvents : public DataWriterListener {
    void on_publication_matched(DataWriter*, const PublicationMatchedStatus& status) override {
        say("matched " + std::to_string(status.current_count));
    }
    void on_offered_incompatible_qos(DataWriter*, const OfferedIncompatibleQosStatus& status) override {
        say("incompatible " + std::to_string(status.last_policy_id));
    }
};

class ReaderEvents : public DataReaderListener {
public:
    explicit ReaderEvents(const Type& type) : type_(type) {}

private:
    void on_subscription_matched(DataReader*, const SubscriptionMatchedStatus& status) override {
        say("matched " + std::to_string(status.current_count));
    }
    void on_requested_incompatible_qos(DataReader*, const RequestedIncompatibleQosStatus& status) override {
        say("incompatible " + std::to_string(status.last_policy_id));
    }
    void on_data_available(DataReader* reader) override {
        Sample sample;
        SampleInfo info;
        while (reader->take_next_sample(&sample, &info) == ReturnCode_t::RETCODE_OK) {
            if (info.valid_data) {
                names_[info.instance_handle] = sample.name;
                char value[32];
                std::snprintf(value, sizeof value, type_.value_format(), sample.value);
                std::ostringstream line;
                line << "sample " << sample.name << ' ' << sample.number << ' ' << value << ' '
                     << sample.octets.size() << ' ' << adler32(sample.octets);
                say(line.str());
            } else if (info.instance_state == NOT_ALIVE_DISPOSED_INSTANCE_STATE) {
                say("disposed " + names_[info.instance_handle]);
            } else if (info.instance_state == NOT_ALIVE_NO_WRITERS_INSTANCE_STATE) {
                say("no-writers " + names_[info.instance_handle]);
            }
        }
    }

    const Type& type_;
    // This version cannot tell the key of an instance from its handle.
    std::map<InstanceHandle_t, std::string> names_;
};

static void check(bool good, const char* what) {
    if (!good) {
        throw std::runtime_error(what);
    }
}

static void carry_out(DataWriter* writer, const Type& type, const std::string& line) {
    std::istringstream words(line);
    std::string verb;
    Sample sample;
    words >> verb >> sample.name;
    if (verb == "write") {
        size_t size = 0;
        words >> sample.number >> size;
        sample.value = type.value(sample.number);
        for (size_t at = 0; at < size; ++at) {
            sample.octets.push_back(static_cast<uint8_t>((at + sample.number) % 251));
        }
        check(writer->write(&sample), "write refused");
    } else if (verb == "dispose") {
        check(writer->dispose(&sample, HANDLE_NIL) == ReturnCode_t::RETCODE_OK, "dispose refused");
    } else if (verb == "unregister") {
        check(writer->unregister_instance(&sample, HANDLE_NIL) == ReturnCode_t::RETCODE_OK, "unregister refused");
    } else if (verb == "acknowledged") {
        check(writer->wait_for_acknowledgments({10, 0}) == ReturnCode_t::RETCODE_OK,
              "not everything was acknowledged within 10 s");
    } else {
        throw std::runtime_error("there is no such command");
    }
}

// The policies that DataWriterQos and DataReaderQos have in common.
template <class Qos>
static Qos qos_of(Qos qos, const std::string& reliability, const std::string& durability) {
    qos.reliability().kind = reliability == "reliable" ? RELIABLE_RELIABILITY_QOS : BEST_EFFORT_RELIABILITY_QOS;
    qos.durability().kind =
        durability == "transient-local" ? TRANSIENT_LOCAL_DURABILITY_QOS : VOLATILE_DURABILITY_QOS;
    qos.history().kind = KEEP_ALL_HISTORY_QOS;
    qos.endpoint().history_memory_policy = eprosima::fastrtps::rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
    return qos;
}

int main(int count, char** arguments) {
    if (count != 7) {
        std::cerr << "see README.md for the arguments\n";
        return 2;
    }
    const std::string role = arguments[1], name = arguments[2], kind = arguments[3], encoding = arguments[4],
                      reliability = arguments[5], durability = arguments[6];
    if (encoding != "1") {
        std::cerr << "this version knows the first version of XCDR only\n";
        return 2;
    }
    Type* type = make_type(kind);
    check(type != nullptr, "there is no such type here");
    // The support owns the type.
    TypeSupport support(type);

    auto* factory = DomainParticipantFactory::get_instance();
    auto* participant = factory->create_participant(0, PARTICIPANT_QOS_DEFAULT);
    check(participant != nullptr, "no participant");
    support.register_type(participant);
    auto* topic = participant->create_topic(name, type->getName(), TOPIC_QOS_DEFAULT);
    check(topic != nullptr, "no topic");

    WriterEvents writer_events;
    ReaderEvents reader_events(*type);
    DataWriter* writer = nullptr;
    if (role == "pub") {
        auto qos = qos_of(DATAWRITER_QOS_DEFAULT, reliability, durability);
        qos.writer_data_lifecycle().autodispose_unregistered_instances = false;
        writer = participant->create_publisher(PUBLISHER_QOS_DEFAULT)->create_datawriter(topic, qos, &writer_events);
        check(writer != nullptr, "no writer");
    } else {
        auto qos = qos_of(DATAREADER_QOS_DEFAULT, reliability, durability);
        auto* reader =
            participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT)->create_datareader(topic, qos, &reader_events);
        check(reader != nullptr, "no reader");
    }
    say("ready");
    std::string line;
    while (std::getline(std::cin, line) && line != "quit") {
        try {
            carry_out(writer, *type, line);
            say("ok " + line);
        } catch (const std::exception& error) {
            say(std::string("failed ") + error.what());
        }
    }
    participant->delete_contained_entities();
    factory->delete_participant(participant);
    return 0;
}
