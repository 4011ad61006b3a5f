// Protocol Buffers: what `protoc` makes of the messages.
//
// The value is a message already; encoding computes its size and writes it into a buffer that is as long as
// it was before, decoding parses into fresh messages, without an arena.

#include <google/protobuf/util/message_differencer.h>

#include "codec.hpp"
#include "codec.pb.h"

namespace
{

template<class T>
void measure(lab::Task& task, const T& value)
{
    std::vector<std::uint8_t> buffer;
    task.measure(
        [&] {
            buffer.resize(value.ByteSizeLong());
            value.SerializeWithCachedSizesToArray(buffer.data());
            return lab::Bytes{buffer.data(), buffer.size()};
        },
        [](const lab::Bytes& bytes) {
            T decoded;
            if (!decoded.ParseFromArray(bytes.data, static_cast<int>(bytes.len)))
            {
                throw std::runtime_error("expected to parse what was serialized");
            }
            return decoded;
        },
        [&](const T& decoded) {
            return google::protobuf::util::MessageDifferencer::Equals(decoded, value);
        });
}

floe_lab::Nested nested()
{
    floe_lab::Nested value;
    for (std::size_t outer = 0; outer < lab::OUTER_COUNT; ++outer)
    {
        auto* records = value.add_outer();
        for (std::size_t inner = 0; inner < lab::INNER_COUNT; ++inner)
        {
            auto* record = records->add_inner();
            record->set_l(lab::integerAt(outer, inner));
            record->set_d(lab::numberAt(outer, inner));
        }
    }
    return value;
}

floe_lab::Bibliography bibliography()
{
    floe_lab::Bibliography value;
    for (const auto& entry : lab::BIBLIOGRAPHY)
    {
        auto* added = value.add_entries();
        for (const auto& author : entry.authors)
        {
            auto* name = added->add_authors();
            name->set_lastname(author.lastname);
            name->set_initials(author.initials);
        }
        added->set_title(entry.title);
        added->set_journal(entry.journal);
        added->set_year(entry.year);
        added->set_publisher(entry.publisher);
        added->set_location(entry.location);
        added->set_edition(entry.edition);
        added->set_hyperlink(entry.hyperlink);
        added->set_volume(entry.volume);
        added->set_issue(entry.issue);
        added->mutable_page()->set_start(entry.page.start);
        added->mutable_page()->set_end(entry.page.end);
    }
    return value;
}

}

void work(lab::Task& task)
{
    if (task.kind() == "bytes")
    {
        std::string bytes;
        for (std::size_t index = 0; index < task.count(); ++index)
        {
            bytes.push_back(static_cast<char>(lab::byteAt(index)));
        }
        floe_lab::Bytes value;
        value.set_value(bytes);
        measure(task, value);
    }
    else if (task.kind() == "doubles")
    {
        floe_lab::Doubles value;
        for (std::size_t index = 0; index < task.count(); ++index)
        {
            value.add_value(lab::doubleAt(index));
        }
        measure(task, value);
    }
    else if (task.name == "nested")
    {
        measure(task, nested());
    }
    else if (task.name == "text")
    {
        floe_lab::Text value;
        for (const auto& line : lab::TEXT)
        {
            value.add_lines(line);
        }
        measure(task, value);
    }
    else if (task.name == "bibliography")
    {
        measure(task, bibliography());
    }
}
