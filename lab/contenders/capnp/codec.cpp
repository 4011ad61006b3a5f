// Cap'n Proto: what `capnp` makes of the schema. It has no encoding apart from the value: encoding here
// builds the message from the values of an application, decoding walks the message in place and reads every
// member, without making values that own anything.
//
// Each message is built in the same memory, which is long enough for one segment; the segment is what is
// decoded, without the table of segments that a stream would have in front.

#include <capnp/message.h>

#include "codec.capnp.h"
#include "codec.hpp"

namespace
{

// Adds up what it is shown, which is about the least that reading can be: of numbers the bits, as the addition of
// doubles would cost more than reading them, of texts and bytes the length. `floe-view` does the same.
struct Sum
{
    std::uint64_t total = 0;

    void number(double value)
    {
        std::uint64_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        total += bits;
    }
    void number(std::int64_t value) { total += static_cast<std::uint64_t>(value); }
    void text(const char* data, std::size_t len)
    {
        lab::keep(data);
        total += len;
    }
};

// Writes down what it is shown, for a comparison.
struct Record
{
    std::ostringstream shown;

    void number(double value) { shown.write(reinterpret_cast<const char*>(&value), sizeof value); }
    void number(std::int64_t value) { number(static_cast<double>(value)); }
    void text(const char* data, std::size_t len)
    {
        number(static_cast<std::int64_t>(len));
        shown.write(data, static_cast<std::streamsize>(len));
    }
};

template<class Visitor>
void show(const lab::Entry& entry, Visitor& visitor)
{
    for (const auto& author : entry.authors)
    {
        visitor.text(author.lastname.data(), author.lastname.size());
        visitor.text(author.initials.data(), author.initials.size());
    }
    for (const auto* text : {&entry.title, &entry.journal, &entry.publisher, &entry.location, &entry.edition,
                             &entry.hyperlink})
    {
        visitor.text(text->data(), text->size());
    }
    for (auto number : {entry.year, entry.volume, entry.issue, entry.page.start, entry.page.end})
    {
        visitor.number(std::int64_t{number});
    }
}

template<class Visitor>
void show(capnp::Text::Reader text, Visitor& visitor)
{
    visitor.text(text.begin(), text.size());
}

template<class Visitor>
void show(floe_lab::Entry::Reader entry, Visitor& visitor)
{
    for (auto author : entry.getAuthors())
    {
        show(author.getLastname(), visitor);
        show(author.getInitials(), visitor);
    }
    show(entry.getTitle(), visitor);
    show(entry.getJournal(), visitor);
    show(entry.getPublisher(), visitor);
    show(entry.getLocation(), visitor);
    show(entry.getEdition(), visitor);
    show(entry.getHyperlink(), visitor);
    visitor.number(std::int64_t{entry.getYear()});
    visitor.number(std::int64_t{entry.getVolume()});
    visitor.number(std::int64_t{entry.getIssue()});
    auto page = entry.getPage();
    visitor.number(std::int64_t{page.getStart()});
    visitor.number(std::int64_t{page.getEnd()});
}

// For each type: the value as an application has it, how to build the message, and how to show each of the two
// to a visitor, member by member in the same order.

struct BytesCase
{
    using Message = floe_lab::Bytes;

    std::vector<std::uint8_t> value;

    explicit BytesCase(std::size_t count)
    {
        for (std::size_t index = 0; index < count; ++index)
        {
            value.push_back(lab::byteAt(index));
        }
    }

    void build(Message::Builder message) const
    {
        message.setValue(kj::arrayPtr(value.data(), value.size()));
    }

    template<class Visitor>
    void show(Visitor& visitor) const
    {
        visitor.text(reinterpret_cast<const char*>(value.data()), value.size());
    }

    template<class Visitor>
    static void show(Message::Reader message, Visitor& visitor)
    {
        auto bytes = message.getValue();
        visitor.text(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
    }
};

struct DoublesCase
{
    using Message = floe_lab::Doubles;

    std::vector<double> value;

    explicit DoublesCase(std::size_t count)
    {
        for (std::size_t index = 0; index < count; ++index)
        {
            value.push_back(lab::doubleAt(index));
        }
    }

    void build(Message::Builder message) const
    {
        auto numbers = message.initValue(static_cast<unsigned>(value.size()));
        for (unsigned index = 0; index < value.size(); ++index)
        {
            numbers.set(index, value[index]);
        }
    }

    template<class Visitor>
    void show(Visitor& visitor) const
    {
        for (double number : value)
        {
            visitor.number(number);
        }
    }

    template<class Visitor>
    static void show(Message::Reader message, Visitor& visitor)
    {
        for (double number : message.getValue())
        {
            visitor.number(number);
        }
    }
};

struct NestedCase
{
    using Message = floe_lab::Nested;

    struct Inner
    {
        std::int64_t l;
        double d;
    };

    std::vector<std::vector<Inner>> value;

    NestedCase() : value(lab::OUTER_COUNT)
    {
        for (std::size_t outer = 0; outer < value.size(); ++outer)
        {
            for (std::size_t inner = 0; inner < lab::INNER_COUNT; ++inner)
            {
                value[outer].push_back({lab::integerAt(outer, inner), lab::numberAt(outer, inner)});
            }
        }
    }

    void build(Message::Builder message) const
    {
        auto outers = message.initOuter(static_cast<unsigned>(value.size()));
        for (unsigned outer = 0; outer < value.size(); ++outer)
        {
            auto inners = outers[outer].initInner(static_cast<unsigned>(value[outer].size()));
            for (unsigned inner = 0; inner < value[outer].size(); ++inner)
            {
                inners[inner].setL(value[outer][inner].l);
                inners[inner].setD(value[outer][inner].d);
            }
        }
    }

    template<class Visitor>
    void show(Visitor& visitor) const
    {
        for (const auto& outer : value)
        {
            for (const auto& inner : outer)
            {
                visitor.number(inner.l);
                visitor.number(inner.d);
            }
        }
    }

    template<class Visitor>
    static void show(Message::Reader message, Visitor& visitor)
    {
        for (auto outer : message.getOuter())
        {
            for (auto inner : outer.getInner())
            {
                visitor.number(inner.getL());
                visitor.number(inner.getD());
            }
        }
    }
};

struct TextCase
{
    using Message = floe_lab::Lines;

    void build(Message::Builder message) const
    {
        auto lines = message.initLines(static_cast<unsigned>(lab::TEXT.size()));
        for (unsigned index = 0; index < lab::TEXT.size(); ++index)
        {
            lines.set(index, capnp::Text::Reader(lab::TEXT[index].c_str(), lab::TEXT[index].size()));
        }
    }

    template<class Visitor>
    void show(Visitor& visitor) const
    {
        for (const auto& line : lab::TEXT)
        {
            visitor.text(line.data(), line.size());
        }
    }

    template<class Visitor>
    static void show(Message::Reader message, Visitor& visitor)
    {
        for (auto line : message.getLines())
        {
            ::show(line, visitor);
        }
    }
};

struct BibliographyCase
{
    using Message = floe_lab::Bibliography;

    static capnp::Text::Reader text(const std::string& text) { return {text.c_str(), text.size()}; }

    void build(Message::Builder message) const
    {
        auto entries = message.initEntries(static_cast<unsigned>(lab::BIBLIOGRAPHY.size()));
        for (unsigned index = 0; index < lab::BIBLIOGRAPHY.size(); ++index)
        {
            const auto& entry = lab::BIBLIOGRAPHY[index];
            auto built = entries[index];
            auto authors = built.initAuthors(static_cast<unsigned>(entry.authors.size()));
            for (unsigned author = 0; author < entry.authors.size(); ++author)
            {
                authors[author].setLastname(text(entry.authors[author].lastname));
                authors[author].setInitials(text(entry.authors[author].initials));
            }
            built.setTitle(text(entry.title));
            built.setJournal(text(entry.journal));
            built.setYear(entry.year);
            built.setPublisher(text(entry.publisher));
            built.setLocation(text(entry.location));
            built.setEdition(text(entry.edition));
            built.setHyperlink(text(entry.hyperlink));
            built.setVolume(entry.volume);
            built.setIssue(entry.issue);
            auto page = built.initPage();
            page.setStart(entry.page.start);
            page.setEnd(entry.page.end);
        }
    }

    template<class Visitor>
    void show(Visitor& visitor) const
    {
        for (const auto& entry : lab::BIBLIOGRAPHY)
        {
            ::show(entry, visitor);
        }
    }

    template<class Visitor>
    static void show(Message::Reader message, Visitor& visitor)
    {
        for (auto entry : message.getEntries())
        {
            ::show(entry, visitor);
        }
    }
};

// Enough for each of the messages in one segment.
const std::size_t WORDS = 1 << 21;

template<class Visitor, class Case>
Visitor walk(const lab::Bytes& bytes)
{
    const auto* words = static_cast<const capnp::word*>(bytes.data);
    const kj::ArrayPtr<const capnp::word> segment = kj::arrayPtr(words, bytes.len / sizeof(capnp::word));
    capnp::SegmentArrayMessageReader reader(kj::arrayPtr(&segment, 1));
    Visitor visitor;
    Case::show(reader.getRoot<typename Case::Message>(), visitor);
    return visitor;
}

template<class Case>
void measure(lab::Task& task, const Case& value)
{
    // A message takes zeroed memory, and leaves it so.
    std::vector<std::uint64_t> memory(WORDS);
    const auto words = kj::arrayPtr(reinterpret_cast<capnp::word*>(memory.data()), memory.size());
    lab::Bytes last{nullptr, 0};
    std::vector<std::uint64_t> copy;
    auto encode = [&](bool takeCopy) {
        capnp::MallocMessageBuilder builder(words);
        value.build(builder.initRoot<typename Case::Message>());
        const auto segments = builder.getSegmentsForOutput();
        if (segments.size() != 1)
        {
            throw std::runtime_error("expected one segment");
        }
        const auto bytes = segments[0].asBytes();
        last = {bytes.begin(), bytes.size()};
        lab::keep(bytes.begin());
        if (takeCopy)
        {
            // The builder clears its memory when it goes.
            copy.resize(last.len / 8);
            std::memcpy(copy.data(), last.data, last.len);
            last.data = copy.data();
        }
        return last;
    };
    bool isFirst = true;
    task.measure(
        [&] { return encode(std::exchange(isFirst, false)); },
        [](const lab::Bytes& bytes) { return walk<Sum, Case>(bytes).total; },
        [&](std::uint64_t) {
            Record expected;
            value.show(expected);
            return walk<Record, Case>(last).shown.str() == expected.shown.str();
        });
}

}

void work(lab::Task& task)
{
    if (task.kind() == "bytes")
    {
        measure(task, BytesCase(task.count()));
    }
    else if (task.kind() == "doubles")
    {
        measure(task, DoublesCase(task.count()));
    }
    else if (task.name == "nested")
    {
        measure(task, NestedCase());
    }
    else if (task.name == "text")
    {
        measure(task, TextCase());
    }
    else if (task.name == "bibliography")
    {
        measure(task, BibliographyCase());
    }
}
