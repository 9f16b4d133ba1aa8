// Fast DDS 3 behind the language of README.md. Types are described at run time, so that they are announced with their type objects.
#include <cstdio>

#include <fastdds/dds/xtypes/dynamic_types/DynamicData.hpp>
#include <fastdds/dds/xtypes/dynamic_types/DynamicDataFactory.hpp>
#include <fastdds/dds/xtypes/dynamic_types/DynamicPubSubType.hpp>
#include <fastdds/dds/xtypes/dynamic_types/DynamicTypeBuilder.hpp>
#include <fastdds/dds/xtypes/dynamic_types/DynamicTypeBuilderFactory.hpp>
#include <fastdds/dds/xtypes/dynamic_types/MemberDescriptor.hpp>
#include <fastdds/dds/xtypes/dynamic_types/TypeDescriptor.hpp>
#include <fastdds/dds/xtypes/type_representation/ITypeObjectRegistry.hpp>
#include <fastdds/dds/xtypes/type_representation/TypeObject.hpp>

#include "fastdds.hpp"

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

// Content filters look for types by their names, under which those that are described at run time are not registered.
static void register_by_name(const Kind& kind, DynamicType::_ref_type type) {
    auto& registry = DomainParticipantFactory::get_instance()->type_object_registry();
    xtypes::TypeIdentifierPair ids, named;
    check(registry.register_typeobject_w_dynamic_type(type, ids) == RETCODE_OK, "no type object");
    for (const auto& id : {ids.type_identifier1(), ids.type_identifier2()}) {
        xtypes::TypeObject object;
        if (registry.get_type_object(id, object) == RETCODE_OK && object._d() == xtypes::EK_COMPLETE) {
            check(registry.register_type_object(kind.name, object.complete(), named) == RETCODE_OK, "no name for the type");
        }
    }
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
    data->set_uint8_values(kind.bytes, bytes_of(number, size));
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
    return line_of(key_of(data, kind), number, value, bytes);
}

class Samples : public ReaderEvents {
public:
    Samples(const Kind& kind, DynamicType::_ref_type type) : kind_(kind), type_(type) {}

private:
    void on_data_available(DataReader* reader) override {
        auto data = DynamicDataFactory::get_instance()->create_data(type_);
        SampleInfo info;
        while (reader->take_next_sample(&data, &info) == RETCODE_OK) {
            if (info.valid_data) {
                tell(info, key_of(data, kind_), line_of(data, kind_));
            } else {
                tell(info);
            }
        }
    }

    const Kind& kind_;
    DynamicType::_ref_type type_;
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

int main(int count, char** arguments) {
    if (count < 7) {
        std::cerr << "see README.md for the arguments\n";
        return 2;
    }
    const Role role(count, arguments);
    const Kind kind = kind_of(role.kind);
    const auto type = build(kind);
    std::vector<DataRepresentationId_t> representations;
    if (role.encoding != "default") {
        representations.push_back(role.encoding == "1" ? XCDR_DATA_REPRESENTATION : XCDR2_DATA_REPRESENTATION);
    }
    if (!role.filter.empty()) {
        register_by_name(kind, type);
    }
    TypeSupport support(new DynamicPubSubType(type));
    Samples samples(kind, type);
    return play(
        role, support, samples, [&](auto& qos) { qos.representation().m_value = representations; },
        [&](DataWriter* writer, const std::string& line) { carry_out(writer, kind, type, line); });
}
