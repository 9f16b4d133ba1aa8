// Fast DDS 3 behind the language of README.md. Types are described at run time, so that they are announced with their type objects.
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/DataWriterListener.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>
#include <fastdds/dds/xtypes/dynamic_types/DynamicData.hpp>
#include <fastdds/dds/xtypes/dynamic_types/DynamicDataFactory.hpp>
#include <fastdds/dds/xtypes/dynamic_types/DynamicPubSubType.hpp>
#include <fastdds/dds/xtypes/dynamic_types/DynamicTypeBuilder.hpp>
#include <fastdds/dds/xtypes/dynamic_types/DynamicTypeBuilderFactory.hpp>
#include <fastdds/dds/xtypes/dynamic_types/MemberDescriptor.hpp>
#include <fastdds/dds/xtypes/dynamic_types/TypeDescriptor.hpp>

using namespace eprosima::fastdds::dds;

static void say(const std::string& line) {
    static std::mutex one_at_a_time;
    std::lock_guard<std::mutex> guard(one_at_a_time);
    std::cout << line << std::endl;
}

static void check(bool good, const char* what) {
    if (!good) {
        throw std::runtime_error(what);
    }
}

static uint32_t adler32(const std::vector<uint8_t>& bytes) {
    uint32_t low = 1, high = 0;
    for (uint8_t byte : bytes) {
        low = (low + byte) % 65521;
        high = (high + low) % 65521;
    }
    return high << 16 | low;
}

enum class Of { String, Long, Float, Double, Bytes };

struct Member {
    const char* name;
    Of type;
    bool key;
    bool optional;
};

// A type, and which of its members hold key, number, value and bytes.
struct Kind {
    const char* name;
    ExtensibilityKind extensibility;
    std::vector<Member> members;
    size_t key, number, value, bytes;
};

static Kind kind_of(const std::string& kind) {
    const auto appendable = ExtensibilityKind::APPENDABLE, final = ExtensibilityKind::FINAL, mutable_ = ExtensibilityKind::MUTABLE;
    if (kind == "keyed") {
        return {"ShapeType", appendable, {{"color", Of::String, true, false}, {"x", Of::Long, false, false}, {"y", Of::Long, false, false},
                {"shapesize", Of::Long, false, false}, {"additional_payload_size", Of::Bytes, false, false}}, 0, 1, 2, 4};
    }
    if (kind == "keyless") {
        return {"Reading", final, {{"source", Of::String, false, false}, {"number", Of::Long, false, false},
                {"value", Of::Double, false, false}, {"payload", Of::Bytes, false, false}}, 0, 1, 2, 3};
    }
    if (kind == "numbered") {
        return {"Track", final, {{"id", Of::Long, true, false}, {"number", Of::Long, false, false},
                {"value", Of::Double, false, false}, {"payload", Of::Bytes, false, false}}, 0, 1, 2, 3};
    }
    if (kind == "mutable") {
        return {"Report", mutable_, {{"name", Of::String, true, false}, {"number", Of::Long, false, false},
                {"value", Of::Double, false, true}, {"payload", Of::Bytes, false, false}}, 0, 1, 2, 3};
    }
    check(kind == "grown" || kind == "clashing", "there is no such type here");
    Kind log{"Log", appendable, {{"id", Of::Long, true, false}, {"number", Of::Long, false, false},
             {"value", kind == "grown" ? Of::Double : Of::Float, false, false}, {"payload", Of::Bytes, false, false}}, 0, 1, 2, 3};
    if (kind == "grown") {
        log.members.push_back({"more", Of::Long, false, false});
    }
    return log;
}

static DynamicType::_ref_type type_of(Of of) {
    auto factory = DynamicTypeBuilderFactory::get_instance();
    switch (of) {
        case Of::String: return factory->create_string_type(static_cast<uint32_t>(LENGTH_UNLIMITED))->build();
        case Of::Long: return factory->get_primitive_type(TK_INT32);
        case Of::Float: return factory->get_primitive_type(TK_FLOAT32);
        case Of::Double: return factory->get_primitive_type(TK_FLOAT64);
        default:
            return factory->create_sequence_type(factory->get_primitive_type(TK_UINT8), static_cast<uint32_t>(LENGTH_UNLIMITED))->build();
    }
}

static DynamicType::_ref_type build(const Kind& kind) {
    TypeDescriptor::_ref_type descriptor{traits<TypeDescriptor>::make_shared()};
    descriptor->kind(TK_STRUCTURE);
    descriptor->name(kind.name);
    descriptor->extensibility_kind(kind.extensibility);
    auto builder = DynamicTypeBuilderFactory::get_instance()->create_type(descriptor);
    uint32_t id = 0;
    for (const Member& member : kind.members) {
        MemberDescriptor::_ref_type described{traits<MemberDescriptor>::make_shared()};
        described->name(member.name);
        described->type(type_of(member.type));
        described->id(id++);
        described->is_key(member.key);
        described->is_optional(member.optional);
        check(builder->add_member(described) == RETCODE_OK, "no member");
    }
    return builder->build();
}

static void fill(DynamicData::_ref_type data, const Kind& kind, const std::string& key, int32_t number, size_t size) {
    if (kind.members[kind.key].type == Of::String) {
        data->set_string_value(kind.key, key);
    } else {
        data->set_int32_value(kind.key, std::stol(key));
    }
    data->set_int32_value(kind.number, number);
    if (kind.members[kind.value].type == Of::Long) {
        data->set_int32_value(kind.value, 3 * number);
        data->set_int32_value(3, 20);
    } else if (kind.members[kind.value].type == Of::Float) {
        data->set_float32_value(kind.value, number + 0.25f);
    } else if (!kind.members[kind.value].optional || number % 2 == 0) {
        data->set_float64_value(kind.value, number + 0.25);
    }
    std::vector<uint8_t> bytes;
    for (size_t at = 0; at < size; ++at) {
        bytes.push_back(static_cast<uint8_t>((at + number) % 251));
    }
    data->set_uint8_values(kind.bytes, bytes);
}

static std::string key_of(DynamicData::_ref_type data, const Kind& kind) {
    if (kind.members[kind.key].type == Of::String) {
        std::string key;
        data->get_string_value(key, kind.key);
        return key;
    }
    int32_t key = 0;
    data->get_int32_value(key, kind.key);
    return std::to_string(key);
}

static std::string line_of(DynamicData::_ref_type data, const Kind& kind) {
    int32_t number = 0;
    data->get_int32_value(number, kind.number);
    char value[32] = "none";
    if (kind.members[kind.value].type == Of::Long) {
        int32_t found = 0;
        data->get_int32_value(found, kind.value);
        std::snprintf(value, sizeof value, "%d", found);
    } else if (kind.members[kind.value].type == Of::Float) {
        float found = 0;
        data->get_float32_value(found, kind.value);
        std::snprintf(value, sizeof value, "%.2f", found);
    } else {
        double found = 0;
        if (data->get_float64_value(found, kind.value) == RETCODE_OK) {
            std::snprintf(value, sizeof value, "%.2f", found);
        }
    }
    std::vector<uint8_t> bytes;
    data->get_uint8_values(bytes, kind.bytes);
    std::ostringstream line;
    line << "sample " << key_of(data, kind) << ' ' << number << ' ' << value << ' ' << bytes.size() << ' ' << adler32(bytes);
    return line.str();
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
    ReaderEvents(const Kind& kind, DynamicType::_ref_type type) : kind_(kind), type_(type) {}

private:
    void on_subscription_matched(DataReader*, const SubscriptionMatchedStatus& status) override {
        say("matched " + std::to_string(status.current_count));
    }
    void on_requested_incompatible_qos(DataReader*, const RequestedIncompatibleQosStatus& status) override {
        say("incompatible " + std::to_string(status.last_policy_id));
    }
    void on_data_available(DataReader* reader) override {
        auto data = DynamicDataFactory::get_instance()->create_data(type_);
        SampleInfo info;
        while (reader->take_next_sample(&data, &info) == RETCODE_OK) {
            if (info.valid_data) {
                keys_[info.instance_handle] = key_of(data, kind_);
                say(line_of(data, kind_));
            } else if (info.instance_state == NOT_ALIVE_DISPOSED_INSTANCE_STATE) {
                say("disposed " + keys_[info.instance_handle]);
            } else if (info.instance_state == NOT_ALIVE_NO_WRITERS_INSTANCE_STATE) {
                say("no-writers " + keys_[info.instance_handle]);
            }
        }
    }

    const Kind& kind_;
    DynamicType::_ref_type type_;
    std::map<InstanceHandle_t, std::string> keys_;
};

static void carry_out(DataWriter* writer, const Kind& kind, DynamicType::_ref_type type, const std::string& line) {
    std::istringstream words(line);
    std::string verb, key;
    int32_t number = 0;
    size_t size = 0;
    words >> verb >> key >> number >> size;
    if (verb == "acknowledged") {
        check(writer->wait_for_acknowledgments({10, 0}) == RETCODE_OK, "not everything was acknowledged within 10 s");
        return;
    }
    auto data = DynamicDataFactory::get_instance()->create_data(type);
    fill(data, kind, key, number, size);
    if (verb == "write") {
        check(writer->write(&data) == RETCODE_OK, "write refused");
    } else if (verb == "dispose") {
        check(writer->dispose(&data, HANDLE_NIL) == RETCODE_OK, "dispose refused");
    } else if (verb == "unregister") {
        check(writer->unregister_instance(&data, HANDLE_NIL) == RETCODE_OK, "unregister refused");
    } else {
        throw std::runtime_error("there is no such command");
    }
}

// The policies that DataWriterQos and DataReaderQos have in common.
template <class Qos>
static Qos qos_of(Qos qos, const std::string& reliability, const std::string& durability) {
    qos.reliability().kind = reliability == "reliable" ? RELIABLE_RELIABILITY_QOS : BEST_EFFORT_RELIABILITY_QOS;
    qos.durability().kind = durability == "transient-local" ? TRANSIENT_LOCAL_DURABILITY_QOS : VOLATILE_DURABILITY_QOS;
    qos.history().kind = KEEP_ALL_HISTORY_QOS;
    return qos;
}

int main(int count, char** arguments) {
    if (count != 7) {
        std::cerr << "see README.md for the arguments\n";
        return 2;
    }
    const std::string role = arguments[1], name = arguments[2], encoding = arguments[4], reliability = arguments[5],
                      durability = arguments[6];
    const Kind kind = kind_of(arguments[3]);
    const auto type = build(kind);
    std::vector<DataRepresentationId_t> representations;
    if (encoding != "default") {
        representations.push_back(encoding == "1" ? XCDR_DATA_REPRESENTATION : XCDR2_DATA_REPRESENTATION);
    }
    TypeSupport support(new DynamicPubSubType(type));

    auto* factory = DomainParticipantFactory::get_instance();
    auto* participant = factory->create_participant(0, PARTICIPANT_QOS_DEFAULT);
    check(participant != nullptr, "no participant");
    support.register_type(participant);
    auto* topic = participant->create_topic(name, support.get_type_name(), TOPIC_QOS_DEFAULT);
    check(topic != nullptr, "no topic");

    WriterEvents writer_events;
    ReaderEvents reader_events(kind, type);
    DataWriter* writer = nullptr;
    if (role == "pub") {
        auto qos = qos_of(DATAWRITER_QOS_DEFAULT, reliability, durability);
        qos.representation().m_value = representations;
        qos.writer_data_lifecycle().autodispose_unregistered_instances = false;
        writer = participant->create_publisher(PUBLISHER_QOS_DEFAULT)->create_datawriter(topic, qos, &writer_events);
        check(writer != nullptr, "no writer");
    } else {
        auto qos = qos_of(DATAREADER_QOS_DEFAULT, reliability, durability);
        qos.representation().m_value = representations;
        auto* reader =
            participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT)->create_datareader(topic, qos, &reader_events);
        check(reader != nullptr, "no reader");
    }
    say("ready");
    std::string line;
    while (std::getline(std::cin, line) && line != "quit") {
        try {
            carry_out(writer, kind, type, line);
            say("ok " + line);
        } catch (const std::exception& error) {
            say(std::string("failed ") + error.what());
        }
    }
    participant->delete_contained_entities();
    factory->delete_participant(participant);
    return 0;
}
