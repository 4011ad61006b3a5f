// Fast CDR: what a program uses that has no generated code, or what `fastddsgen` (which Debian lacks) would
// make of the IDL: structures with `serialize` and `deserialize` in members' order.
//
// Encoding reuses one Cdr over one FastBuffer that grows by itself, reset before each value; decoding reads in
// place what a connection would have received, into fresh values.

#include <fastcdr/Cdr.h>
#include <fastcdr/FastBuffer.h>

#include "codec.hpp"

using eprosima::fastcdr::Cdr;
using eprosima::fastcdr::FastBuffer;

namespace
{

struct Inner
{
    std::int64_t l;
    double d;

    void serialize(Cdr& cdr) const { cdr << l << d; }
    void deserialize(Cdr& cdr) { cdr >> l >> d; }
    bool operator==(const Inner& other) const { return l == other.l && d == other.d; }
};

struct Outer
{
    std::vector<Inner> inner;

    void serialize(Cdr& cdr) const { cdr << inner; }
    void deserialize(Cdr& cdr) { cdr >> inner; }
    bool operator==(const Outer& other) const { return inner == other.inner; }
};

struct Author
{
    std::string lastname;
    std::string initials;

    void serialize(Cdr& cdr) const { cdr << lastname << initials; }
    void deserialize(Cdr& cdr) { cdr >> lastname >> initials; }
    bool operator==(const Author& other) const
    {
        return lastname == other.lastname && initials == other.initials;
    }
};

struct PageRange
{
    std::int16_t start;
    std::int16_t end;

    void serialize(Cdr& cdr) const { cdr << start << end; }
    void deserialize(Cdr& cdr) { cdr >> start >> end; }
    bool operator==(const PageRange& other) const { return start == other.start && end == other.end; }
};

struct Entry
{
    std::vector<Author> authors;
    std::string title;
    std::string journal;
    std::int16_t year;
    std::string publisher;
    std::string location;
    std::string edition;
    std::string hyperlink;
    std::int16_t volume;
    std::int16_t issue;
    PageRange page;

    void serialize(Cdr& cdr) const
    {
        cdr << authors << title << journal << year << publisher << location << edition << hyperlink << volume
            << issue << page;
    }
    void deserialize(Cdr& cdr)
    {
        cdr >> authors >> title >> journal >> year >> publisher >> location >> edition >> hyperlink >> volume
            >> issue >> page;
    }
    bool operator==(const Entry& other) const
    {
        return authors == other.authors && title == other.title && journal == other.journal
            && year == other.year && publisher == other.publisher && location == other.location
            && edition == other.edition && hyperlink == other.hyperlink && volume == other.volume
            && issue == other.issue && page == other.page;
    }
};

template<class T>
void measure(lab::Task& task, const T& value)
{
    FastBuffer buffer;
    Cdr out(buffer);
    task.measure(
        [&] {
            out.reset();
            out << value;
            return lab::Bytes{out.getBufferPointer(), out.getSerializedDataLength()};
        },
        [](const lab::Bytes& bytes) {
            FastBuffer received(static_cast<char*>(const_cast<void*>(bytes.data)), bytes.len);
            Cdr in(received);
            T decoded;
            in >> decoded;
            return decoded;
        },
        [&](const T& decoded) { return decoded == value; });
}

std::vector<Outer> nested()
{
    std::vector<Outer> value(lab::OUTER_COUNT);
    for (std::size_t outer = 0; outer < value.size(); ++outer)
    {
        for (std::size_t inner = 0; inner < lab::INNER_COUNT; ++inner)
        {
            value[outer].inner.push_back({lab::integerAt(outer, inner), lab::numberAt(outer, inner)});
        }
    }
    return value;
}

std::vector<Entry> bibliography()
{
    std::vector<Entry> value;
    for (const auto& entry : lab::BIBLIOGRAPHY)
    {
        std::vector<Author> authors;
        for (const auto& author : entry.authors)
        {
            authors.push_back({author.lastname, author.initials});
        }
        value.push_back({authors, entry.title, entry.journal, entry.year, entry.publisher, entry.location,
                         entry.edition, entry.hyperlink, entry.volume, entry.issue,
                         {entry.page.start, entry.page.end}});
    }
    return value;
}

}

void work(lab::Task& task)
{
    if (task.kind() == "bytes")
    {
        std::vector<std::uint8_t> value(task.count());
        for (std::size_t index = 0; index < value.size(); ++index)
        {
            value[index] = lab::byteAt(index);
        }
        measure(task, value);
    }
    else if (task.kind() == "doubles")
    {
        std::vector<double> value(task.count());
        for (std::size_t index = 0; index < value.size(); ++index)
        {
            value[index] = lab::doubleAt(index);
        }
        measure(task, value);
    }
    else if (task.name == "nested")
    {
        measure(task, nested());
    }
    else if (task.name == "text")
    {
        measure(task, lab::TEXT);
    }
    else if (task.name == "bibliography")
    {
        measure(task, bibliography());
    }
}
