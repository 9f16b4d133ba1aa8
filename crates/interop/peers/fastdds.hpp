// What the peers of both versions of Fast DDS share: lines, checks, events, policies and the conversation of README.md.
#pragma once

#include <cstdint>
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
#include <fastdds/dds/topic/ContentFilteredTopic.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>

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

// The bytes of a sample with this number.
static std::vector<uint8_t> bytes_of(int32_t number, size_t size) {
    std::vector<uint8_t> bytes;
    for (size_t at = 0; at < size; ++at) {
        bytes.push_back(static_cast<uint8_t>((at + number) % 251));
    }
    return bytes;
}

static uint32_t adler32(const std::vector<uint8_t>& bytes) {
    uint32_t low = 1, high = 0;
    for (uint8_t byte : bytes) {
        low = (low + byte) % 65521;
        high = (high + low) % 65521;
    }
    return high << 16 | low;
}

static std::string line_of(const std::string& key, int32_t number, const char* value, const std::vector<uint8_t>& bytes) {
    std::ostringstream line;
    line << "sample " << key << ' ' << number << ' ' << value << ' ' << bytes.size() << ' ' << adler32(bytes);
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

// All events of a reader but its samples.
class ReaderEvents : public DataReaderListener {
    void on_subscription_matched(DataReader*, const SubscriptionMatchedStatus& status) override {
        say("matched " + std::to_string(status.current_count));
    }
    void on_requested_incompatible_qos(DataReader*, const RequestedIncompatibleQosStatus& status) override {
        say("incompatible " + std::to_string(status.last_policy_id));
    }

protected:
    // A sample with data, and its key.
    void tell(const SampleInfo& info, const std::string& key, const std::string& line) {
        keys_[info.instance_handle] = key;
        say(line);
    }
    // One without data.
    void tell(const SampleInfo& info) {
        if (info.instance_state == NOT_ALIVE_DISPOSED_INSTANCE_STATE) {
            say("disposed " + keys_[info.instance_handle]);
        } else if (info.instance_state == NOT_ALIVE_NO_WRITERS_INSTANCE_STATE) {
            say("no-writers " + keys_[info.instance_handle]);
        }
    }

private:
    // Fast DDS does not tell the key of an instance from its handle.
    std::map<decltype(SampleInfo::instance_handle), std::string> keys_;
};

// What the arguments say.
struct Role {
    std::string role, topic, kind, encoding, reliability, durability;
    // The expression of a content filter and its parameters; none without one.
    std::vector<std::string> filter;

    Role(int count, char** arguments)
        : role(arguments[1]), topic(arguments[2]), kind(arguments[3]), encoding(arguments[4]), reliability(arguments[5]),
          durability(arguments[6]), filter(arguments + 7, arguments + count) {}

    // The policies that DataWriterQos and DataReaderQos have in common.
    template <class Qos>
    Qos qos(Qos qos) const {
        qos.reliability().kind = reliability == "reliable" ? RELIABLE_RELIABILITY_QOS : BEST_EFFORT_RELIABILITY_QOS;
        qos.durability().kind =
            durability == "transient-local" ? TRANSIENT_LOCAL_DURABILITY_QOS : VOLATILE_DURABILITY_QOS;
        qos.history().kind = KEEP_ALL_HISTORY_QOS;
        return qos;
    }
};

// Plays a role until it is told to quit: `adapt` sets what versions of Fast DDS say differently in the QoS, `carry_out` does what a line says with a writer.
template <class Adapt, class CarryOut>
static int play(const Role& role, TypeSupport& support, DataReaderListener& reader_events, Adapt adapt, CarryOut carry_out) {
    auto* factory = DomainParticipantFactory::get_instance();
    auto* participant = factory->create_participant(0, PARTICIPANT_QOS_DEFAULT);
    check(participant != nullptr, "no participant");
    support.register_type(participant);
    auto* topic = participant->create_topic(role.topic, support.get_type_name(), TOPIC_QOS_DEFAULT);
    check(topic != nullptr, "no topic");

    WriterEvents writer_events;
    DataWriter* writer = nullptr;
    if (role.role == "pub") {
        auto qos = role.qos(DATAWRITER_QOS_DEFAULT);
        adapt(qos);
        qos.writer_data_lifecycle().autodispose_unregistered_instances = false;
        writer = participant->create_publisher(PUBLISHER_QOS_DEFAULT)->create_datawriter(topic, qos, &writer_events);
        check(writer != nullptr, "no writer");
    } else {
        auto qos = role.qos(DATAREADER_QOS_DEFAULT);
        adapt(qos);
        TopicDescription* description = topic;
        if (!role.filter.empty()) {
            const std::vector<std::string> parameters(role.filter.begin() + 1, role.filter.end());
            description = participant->create_contentfilteredtopic("Filtered", topic, role.filter.front(), parameters);
            check(description != nullptr, "no content-filtered topic");
        }
        auto* reader =
            participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT)->create_datareader(description, qos, &reader_events);
        check(reader != nullptr, "no reader");
    }
    say("ready");
    std::string line;
    while (std::getline(std::cin, line) && line != "quit") {
        try {
            carry_out(writer, line);
            say("ok " + line);
        } catch (const std::exception& error) {
            say(std::string("failed ") + error.what());
        }
    }
    participant->delete_contained_entities();
    factory->delete_participant(participant);
    return 0;
}
