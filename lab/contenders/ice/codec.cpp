// Ice, in C++: what `slice2cpp` makes of the contract, with the streams that its proxies and servants use.
//
// Encoding reuses one OutputStream, whose buffer keeps its memory when it is reset; decoding reads in place what
// a connection would have received, into fresh values.

#include <Ice/Ice.h>

#include "Codec.h"
#include "codec.hpp"

namespace
{

template<class T>
void measure(lab::Task& task, const T& value)
{
    Ice::OutputStream out;
    task.measure(
        [&] {
            out.clear();
            out.b.reset();
            out.write(value);
            return lab::Bytes{&*out.b.begin(), out.b.size()};
        },
        [](const lab::Bytes& bytes) {
            const auto* begin = static_cast<const Ice::Byte*>(bytes.data);
            Ice::InputStream in(std::make_pair(begin, begin + bytes.len));
            T decoded;
            in.read(decoded);
            return decoded;
        },
        [&](const T& decoded) { return decoded == value; });
}

FloeLab::OuterSeq nested()
{
    FloeLab::OuterSeq value(lab::OUTER_COUNT);
    for (std::size_t outer = 0; outer < value.size(); ++outer)
    {
        for (std::size_t inner = 0; inner < lab::INNER_COUNT; ++inner)
        {
            value[outer].inner.push_back({lab::integerAt(outer, inner), lab::numberAt(outer, inner)});
        }
    }
    return value;
}

FloeLab::Bibliography bibliography()
{
    FloeLab::Bibliography value;
    for (const auto& entry : lab::BIBLIOGRAPHY)
    {
        FloeLab::Authors authors;
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
        FloeLab::Bytes value(task.count());
        for (std::size_t index = 0; index < value.size(); ++index)
        {
            value[index] = lab::byteAt(index);
        }
        measure(task, value);
    }
    else if (task.kind() == "doubles")
    {
        FloeLab::Doubles value(task.count());
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
        measure(task, FloeLab::Lines(lab::TEXT));
    }
    else if (task.name == "bibliography")
    {
        measure(task, bibliography());
    }
}
