// Cyclone DDS: what `idlc` makes of the IDL, with the stream that its writers and readers use, in memory and
// in XCDR version 1. The library exports these streams; they are not in the manual of its API.
//
// Encoding reuses one dds_ostream, rewound before each value. Decoding checks the bytes, as Cyclone does with
// all that it receives before it reads them unchecked, then makes a fresh sample and frees it.

#include <dds/dds.h>
#include <dds/ddsi/ddsi_cdrstream.h>
#include <dds/ddsi/q_protocol.h>

#include "codec.h"
#include "codec.hpp"

namespace
{

// A sample that owns what Cyclone allocated for it.
template<class T>
class Sample
{
public:
    explicit Sample(const std::uint32_t* ops) : value(), ops_(ops) {}
    Sample(Sample&& other) noexcept : value(other.value), ops_(other.ops_) { other.value = T(); }
    Sample(const Sample&) = delete;
    Sample& operator=(const Sample&) = delete;
    ~Sample() { dds_stream_free_sample(&value, ops_); }

    T value;

private:
    const std::uint32_t* ops_;
};

// Room for `count` elements, which the sample will own.
template<class Sequence>
void allocate(Sequence& sequence, std::size_t count)
{
    const auto size = count * sizeof *sequence._buffer;
    sequence._maximum = sequence._length = static_cast<std::uint32_t>(count);
    sequence._buffer = static_cast<decltype(sequence._buffer)>(dds_alloc(size));
    sequence._release = true;
}

template<class T, class IsSame>
void measure(lab::Task& task, const Sample<T>& sample, const std::uint32_t* ops, IsSame isSame)
{
    dds_ostream_t out;
    dds_ostream_init(&out, 0, CDR_ENC_VERSION_1);
    task.measure(
        [&] {
            out.m_index = 0;
            dds_stream_write(&out, reinterpret_cast<const char*>(&sample.value), ops);
            return lab::Bytes{out.m_buffer, out.m_index};
        },
        [ops](const lab::Bytes& bytes) {
            // Bytes of this computer's order are not changed.
            auto* data = static_cast<char*>(const_cast<void*>(bytes.data));
            const auto len = static_cast<std::uint32_t>(bytes.len);
            std::uint32_t checked = 0;
            if (!dds_stream_normalize_data(data, &checked, len, false, CDR_ENC_VERSION_1, ops))
            {
                throw std::runtime_error("expected bytes of the type, Cyclone found them wrong");
            }
            dds_istream_t in;
            dds_istream_init(&in, len, data, CDR_ENC_VERSION_1);
            Sample<T> decoded(ops);
            dds_stream_read(&in, reinterpret_cast<char*>(&decoded.value), ops);
            return decoded;
        },
        [&](const Sample<T>& decoded) { return isSame(decoded.value); });
    dds_ostream_fini(&out);
}

void measureBytes(lab::Task& task)
{
    const auto* ops = FloeLab_BytesSample_desc.m_ops;
    Sample<FloeLab_BytesSample> sample(ops);
    auto& value = sample.value.value;
    allocate(value, task.count());
    for (std::size_t index = 0; index < value._length; ++index)
    {
        value._buffer[index] = lab::byteAt(index);
    }
    measure(task, sample, ops, [&](const FloeLab_BytesSample& decoded) {
        return decoded.value._length == value._length
            && std::memcmp(decoded.value._buffer, value._buffer, value._length) == 0;
    });
}

void measureDoubles(lab::Task& task)
{
    const auto* ops = FloeLab_DoublesSample_desc.m_ops;
    Sample<FloeLab_DoublesSample> sample(ops);
    auto& value = sample.value.value;
    allocate(value, task.count());
    for (std::size_t index = 0; index < value._length; ++index)
    {
        value._buffer[index] = lab::doubleAt(index);
    }
    measure(task, sample, ops, [&](const FloeLab_DoublesSample& decoded) {
        return decoded.value._length == value._length
            && std::memcmp(decoded.value._buffer, value._buffer, value._length * sizeof(double)) == 0;
    });
}

bool areSame(const FloeLab_OuterSeq& outers)
{
    bool isSame = outers._length == lab::OUTER_COUNT;
    for (std::size_t outer = 0; isSame && outer < outers._length; ++outer)
    {
        const auto& inners = outers._buffer[outer].inner;
        isSame = inners._length == lab::INNER_COUNT;
        for (std::size_t inner = 0; isSame && inner < inners._length; ++inner)
        {
            isSame = inners._buffer[inner].l == lab::integerAt(outer, inner)
                && inners._buffer[inner].d == lab::numberAt(outer, inner);
        }
    }
    return isSame;
}

void measureNested(lab::Task& task)
{
    const auto* ops = FloeLab_NestedSample_desc.m_ops;
    Sample<FloeLab_NestedSample> sample(ops);
    auto& outers = sample.value.value;
    allocate(outers, lab::OUTER_COUNT);
    for (std::size_t outer = 0; outer < outers._length; ++outer)
    {
        auto& inners = outers._buffer[outer].inner;
        allocate(inners, lab::INNER_COUNT);
        for (std::size_t inner = 0; inner < inners._length; ++inner)
        {
            inners._buffer[inner] = {lab::integerAt(outer, inner), lab::numberAt(outer, inner)};
        }
    }
    measure(task, sample, ops, [](const FloeLab_NestedSample& decoded) { return areSame(decoded.value); });
}

char* copyOf(const std::string& text)
{
    return dds_string_dup(text.c_str());
}

void measureText(lab::Task& task)
{
    const auto* ops = FloeLab_TextSample_desc.m_ops;
    Sample<FloeLab_TextSample> sample(ops);
    auto& lines = sample.value.value;
    allocate(lines, lab::TEXT.size());
    for (std::size_t index = 0; index < lines._length; ++index)
    {
        lines._buffer[index] = copyOf(lab::TEXT[index]);
    }
    measure(task, sample, ops, [](const FloeLab_TextSample& decoded) {
        bool isSame = decoded.value._length == lab::TEXT.size();
        for (std::size_t index = 0; isSame && index < lab::TEXT.size(); ++index)
        {
            isSame = lab::TEXT[index] == decoded.value._buffer[index];
        }
        return isSame;
    });
}

void fill(FloeLab_Entry& value, const lab::Entry& entry)
{
    allocate(value.authors, entry.authors.size());
    for (std::size_t index = 0; index < entry.authors.size(); ++index)
    {
        const auto& author = entry.authors[index];
        value.authors._buffer[index] = {copyOf(author.lastname), copyOf(author.initials)};
    }
    value.title = copyOf(entry.title);
    value.journal = copyOf(entry.journal);
    value.year = entry.year;
    value.publisher = copyOf(entry.publisher);
    value.location = copyOf(entry.location);
    value.edition = copyOf(entry.edition);
    value.hyperlink = copyOf(entry.hyperlink);
    value.volume = entry.volume;
    value.issue = entry.issue;
    value.page = {entry.page.start, entry.page.end};
}

bool isSame(const FloeLab_Entry& value, const lab::Entry& entry)
{
    bool isSame = value.authors._length == entry.authors.size();
    for (std::size_t index = 0; isSame && index < entry.authors.size(); ++index)
    {
        isSame = entry.authors[index].lastname == value.authors._buffer[index].lastname
            && entry.authors[index].initials == value.authors._buffer[index].initials;
    }
    return isSame && entry.title == value.title && entry.journal == value.journal && entry.year == value.year
        && entry.publisher == value.publisher && entry.location == value.location
        && entry.edition == value.edition && entry.hyperlink == value.hyperlink
        && entry.volume == value.volume && entry.issue == value.issue
        && entry.page.start == value.page.start && entry.page.end == value.page.end;
}

void measureBibliography(lab::Task& task)
{
    const auto* ops = FloeLab_BibliographySample_desc.m_ops;
    Sample<FloeLab_BibliographySample> sample(ops);
    auto& entries = sample.value.value;
    allocate(entries, lab::BIBLIOGRAPHY.size());
    for (std::size_t index = 0; index < entries._length; ++index)
    {
        fill(entries._buffer[index], lab::BIBLIOGRAPHY[index]);
    }
    measure(task, sample, ops, [](const FloeLab_BibliographySample& decoded) {
        bool areSame = decoded.value._length == lab::BIBLIOGRAPHY.size();
        for (std::size_t index = 0; areSame && index < lab::BIBLIOGRAPHY.size(); ++index)
        {
            areSame = isSame(decoded.value._buffer[index], lab::BIBLIOGRAPHY[index]);
        }
        return areSame;
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
        measureText(task);
    }
    else if (task.name == "bibliography")
    {
        measureBibliography(task);
    }
}
