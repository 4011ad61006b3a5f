// gSOAP: what `soapcpp2` makes of the types, written and read as XML documents without an envelope.
//
// Encoding appends to one string, emptied before each document; decoding reads from memory into fresh values.
// The context is reused, as gSOAP has it: what it allocated is freed after each document. Doubles are written
// with 17 digits, so that they come back as they were.

#include <algorithm>

#include "codec.hpp"
#include "soapH.h"

// No document of ours carries a prefix that needs more.
struct Namespace namespaces[] = {
    {"SOAP-ENV", "http://schemas.xmlsoap.org/soap/envelope/", nullptr, nullptr},
    {"SOAP-ENC", "http://schemas.xmlsoap.org/soap/encoding/", nullptr, nullptr},
    {"xsi", "http://www.w3.org/2001/XMLSchema-instance", nullptr, nullptr},
    {"xsd", "http://www.w3.org/2001/XMLSchema", nullptr, nullptr},
    {"lab", "urn:floe-lab", nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr}};

namespace
{

struct Stream
{
    std::string written;
    lab::Bytes unread{nullptr, 0};
};

int append(soap* context, const char* data, std::size_t len)
{
    static_cast<Stream*>(context->user)->written.append(data, len);
    return SOAP_OK;
}

std::size_t take(soap* context, char* data, std::size_t room)
{
    auto& unread = static_cast<Stream*>(context->user)->unread;
    const auto len = std::min(room, unread.len);
    std::memcpy(data, unread.data, len);
    unread = {static_cast<const char*>(unread.data) + len, unread.len - len};
    return len;
}

template<class T, class Write, class Read, class IsSame>
void measure(lab::Task& task, T& value, Write write, Read read, IsSame isSame)
{
    Stream stream;
    soap* context = soap_new1(SOAP_C_UTFSTRING | SOAP_XML_TREE);
    context->user = &stream;
    context->fsend = append;
    context->frecv = take;
    context->double_format = "%.17lG";
    auto check = [context](int status) {
        if (status != SOAP_OK)
        {
            throw std::runtime_error("gSOAP fails with " + std::to_string(status));
        }
    };
    bool isFirst = true;
    task.measure(
        [&] {
            stream.written.clear();
            check(write(context, &value));
            soap_end(context);
            return lab::Bytes{stream.written.data(), stream.written.size()};
        },
        [&](const lab::Bytes& bytes) {
            stream.unread = bytes;
            T decoded;
            decoded.soap_default(context);
            check(read(context, &decoded));
            // Bytes belong to the context; they are looked at before it frees them.
            const bool areSame = !std::exchange(isFirst, false) || isSame(decoded);
            soap_destroy(context);
            soap_end(context);
            return areSame;
        },
        [](bool areSame) { return areSame; });
    soap_free(context);
}

void measureBytes(lab::Task& task)
{
    std::vector<std::uint8_t> bytes;
    for (std::size_t index = 0; index < task.count(); ++index)
    {
        bytes.push_back(lab::byteAt(index));
    }
    lab__Bytes value;
    value.value.__ptr = bytes.data();
    value.value.__size = static_cast<int>(bytes.size());
    measure(task, value, soap_write_lab__Bytes, soap_read_lab__Bytes, [&](const lab__Bytes& decoded) {
        return decoded.value.__size == value.value.__size
            && std::memcmp(decoded.value.__ptr, bytes.data(), bytes.size()) == 0;
    });
}

void measureDoubles(lab::Task& task)
{
    lab__Doubles value;
    for (std::size_t index = 0; index < task.count(); ++index)
    {
        value.value.push_back(lab::doubleAt(index));
    }
    measure(task, value, soap_write_lab__Doubles, soap_read_lab__Doubles,
            [&](const lab__Doubles& decoded) { return decoded.value == value.value; });
}

void measureNested(lab::Task& task)
{
    lab__Nested value;
    value.outer.resize(lab::OUTER_COUNT);
    for (std::size_t outer = 0; outer < value.outer.size(); ++outer)
    {
        value.outer[outer].inner.resize(lab::INNER_COUNT);
        for (std::size_t inner = 0; inner < lab::INNER_COUNT; ++inner)
        {
            value.outer[outer].inner[inner].l = lab::integerAt(outer, inner);
            value.outer[outer].inner[inner].d = lab::numberAt(outer, inner);
        }
    }
    const auto sameInner = [](const lab__Inner& one, const lab__Inner& other) {
        return one.l == other.l && one.d == other.d;
    };
    const auto sameOuter = [&](const lab__Outer& one, const lab__Outer& other) {
        return std::equal(one.inner.begin(), one.inner.end(), other.inner.begin(), other.inner.end(), sameInner);
    };
    measure(task, value, soap_write_lab__Nested, soap_read_lab__Nested, [&](const lab__Nested& decoded) {
        return std::equal(decoded.outer.begin(), decoded.outer.end(), value.outer.begin(), value.outer.end(),
                          sameOuter);
    });
}

lab__Entry entryOf(const lab::Entry& entry)
{
    lab__Entry value;
    for (const auto& author : entry.authors)
    {
        lab__Author name;
        name.lastname = author.lastname;
        name.initials = author.initials;
        value.author.push_back(name);
    }
    value.title = entry.title;
    value.journal = entry.journal;
    value.year = entry.year;
    value.publisher = entry.publisher;
    value.location = entry.location;
    value.edition = entry.edition;
    value.hyperlink = entry.hyperlink;
    value.volume = entry.volume;
    value.issue = entry.issue;
    value.page.start = entry.page.start;
    value.page.end = entry.page.end;
    return value;
}

bool sameAuthor(const lab__Author& one, const lab__Author& other)
{
    return one.lastname == other.lastname && one.initials == other.initials;
}

bool sameEntry(const lab__Entry& one, const lab__Entry& other)
{
    return std::equal(one.author.begin(), one.author.end(), other.author.begin(), other.author.end(), sameAuthor)
        && one.title == other.title && one.journal == other.journal && one.year == other.year
        && one.publisher == other.publisher && one.location == other.location && one.edition == other.edition
        && one.hyperlink == other.hyperlink && one.volume == other.volume && one.issue == other.issue
        && one.page.start == other.page.start && one.page.end == other.page.end;
}

void measureBibliography(lab::Task& task)
{
    lab__Bibliography value;
    for (const auto& entry : lab::BIBLIOGRAPHY)
    {
        value.entry.push_back(entryOf(entry));
    }
    measure(task, value, soap_write_lab__Bibliography, soap_read_lab__Bibliography,
            [&](const lab__Bibliography& decoded) {
                return std::equal(decoded.entry.begin(), decoded.entry.end(), value.entry.begin(),
                                  value.entry.end(), sameEntry);
            });
}

}

void work(lab::Task& task)
{
    if (task.kind() == "bytes")
    {
        measureBytes(task);
    }
    else if (task.kind() == "doubles")
    {
        measureDoubles(task);
    }
    else if (task.name == "nested")
    {
        measureNested(task);
    }
    else if (task.name == "text")
    {
        lab__Text value;
        value.line = lab::TEXT;
        measure(task, value, soap_write_lab__Text, soap_read_lab__Text,
                [&](const lab__Text& decoded) { return decoded.line == value.line; });
    }
    else if (task.name == "bibliography")
    {
        measureBibliography(task);
    }
}
