// Fast DDS behind the language of README.md.
#include <algorithm>
#include <cstdio>
#include <functional>

#include <fastcdr/Cdr.h>
#include <fastcdr/FastBuffer.h>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastrtps/utils/md5.h>

#include "fastdds.hpp"

using eprosima::fastcdr::Cdr;
using eprosima::fastcdr::FastBuffer;
using eprosima::fastrtps::rtps::InstanceHandle_t;
using eprosima::fastrtps::rtps::SerializedPayload_t;
using eprosima::fastrtps::types::ReturnCode_t;

// A sample of any type; `name` travels as a string or a long, `value` as a long or a double.
struct Sample {
    std::string name;
    int32_t number = 0;
    double value = 0;
    std::vector<uint8_t> bytes;
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
    // The bytes of the key, big endian; how many.
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
        // Encapsulation, three lengths and the fixed members fit in 64 bytes with all padding.
        return [sample] { return static_cast<uint32_t>(64 + sample->name.size() + sample->bytes.size()); };
    }

    void* createData() override { return new Sample; }
    void deleteData(void* data) override { delete static_cast<Sample*>(data); }

    // Keys that may be longer than 16 bytes are hashed, as those with a string are.
    bool getKey(void* data, InstanceHandle_t* handle, bool force_md5) override {
        if (!m_isGetKeyDefined) {
            return false;
        }
        const Sample* sample = static_cast<Sample*>(data);
        std::vector<char> bytes(64 + sample->name.size());
        FastBuffer buffer(bytes.data(), bytes.size());
        Cdr cdr(buffer, Cdr::BIG_ENDIANNESS);
        size_t length = write_key(cdr, *sample);
        if (has_string_key() || force_md5) {
            MD5 md5;
            md5.init();
            md5.update(bytes.data(), static_cast<unsigned int>(length));
            md5.finalize();
            std::copy(md5.digest, md5.digest + 16, bytes.begin());
        }
        for (int at = 0; at < 16; ++at) {
            handle->value[at] = static_cast<uint8_t>(bytes[at]);
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
        cdr << sample.name << sample.number << static_cast<int32_t>(sample.value) << int32_t(20) << sample.bytes;
    }
    void read(Cdr& cdr, Sample& sample) const override {
        int32_t y = 0, shapesize = 0;
        cdr >> sample.name >> sample.number >> y >> shapesize >> sample.bytes;
        sample.value = y;
    }
    double value(int32_t number) const override { return 3.0 * number; }
    const char* value_format() const override { return "%.0f"; }
};

class Reading : public Type {
public:
    Reading() : Type("Reading", false) {}
    void write(Cdr& cdr, const Sample& sample) const override {
        cdr << sample.name << sample.number << sample.value << sample.bytes;
    }
    void read(Cdr& cdr, Sample& sample) const override {
        cdr >> sample.name >> sample.number >> sample.value >> sample.bytes;
    }
};

class Track : public Type {
public:
    Track() : Type("Track", true) {}
    void write(Cdr& cdr, const Sample& sample) const override {
        cdr << static_cast<int32_t>(std::stol(sample.name)) << sample.number << sample.value << sample.bytes;
    }
    void read(Cdr& cdr, Sample& sample) const override {
        int32_t id = 0;
        cdr >> id;
        sample.name = std::to_string(id);
        cdr >> sample.number >> sample.value >> sample.bytes;
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

class Samples : public ReaderEvents {
public:
    explicit Samples(const Type& type) : type_(type) {}

private:
    void on_data_available(DataReader* reader) override {
        Sample sample;
        SampleInfo info;
        while (reader->take_next_sample(&sample, &info) == ReturnCode_t::RETCODE_OK) {
            if (info.valid_data) {
                char value[32];
                std::snprintf(value, sizeof value, type_.value_format(), sample.value);
                tell(info, sample.name, line_of(sample.name, sample.number, value, sample.bytes));
            } else {
                tell(info);
            }
        }
    }

    const Type& type_;
};

static void carry_out(DataWriter* writer, const Type& type, const std::string& line) {
    std::istringstream words(line);
    std::string verb;
    Sample sample;
    words >> verb >> sample.name;
    if (verb == "write") {
        size_t size = 0;
        words >> sample.number >> size;
        sample.value = type.value(sample.number);
        sample.bytes = bytes_of(sample.number, size);
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

int main(int count, char** arguments) {
    if (count != 7) {
        std::cerr << "see README.md for the arguments\n";
        return 2;
    }
    const Role role(count, arguments);
    if (role.encoding != "1") {
        std::cerr << "this version knows the first version of XCDR only\n";
        return 2;
    }
    Type* type = make_type(role.kind);
    check(type != nullptr, "there is no such type here");
    // The support owns the type.
    TypeSupport support(type);
    Samples samples(*type);
    return play(
        role, support, samples,
        [](auto& qos) {
            qos.endpoint().history_memory_policy = eprosima::fastrtps::rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
        },
        [&](DataWriter* writer, const std::string& line) { carry_out(writer, *type, line); });
}
