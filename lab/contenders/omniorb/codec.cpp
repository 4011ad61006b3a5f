// omniORB: what `omniidl` makes of the IDL, with the stream that its proxies and servants use, in memory.
//
// Texts travel in ISO-8859-1, which is what two omniORB programs agree on by default, so that they are copied and
// not converted. Encoding reuses one cdrMemoryStream, rewound before each value; decoding reads in place what a connection
// would have received, into fresh values.

#include <omniORB4/CORBA.h>
#include <omniORB4/codeSets.h>

#include "codec.hh"
#include "codec.hpp"

namespace
{

// What a connection of GIOP 1.2 would have set.
omni::omniCodeSet::TCS_C* textEncoding()
{
    return omni::omniCodeSet::getTCS_C("ISO-8859-1", GIOP::Version{1, 2});
}

template<class T, class IsSame>
void measure(lab::Task& task, const T& value, IsSame isSame)
{
    auto* const encoding = textEncoding();
    cdrMemoryStream out;
    out.TCS_C(encoding);
    task.measure(
        [&] {
            out.rewindPtrs();
            value >>= out;
            return lab::Bytes{out.bufPtr(), out.bufSize()};
        },
        [encoding](const lab::Bytes& bytes) {
            cdrMemoryStream in(const_cast<void*>(bytes.data), bytes.len);
            in.TCS_C(encoding);
            T decoded;
            decoded <<= in;
            return decoded;
        },
        isSame);
}

void measureBytes(lab::Task& task)
{
    FloeLab::Bytes value;
    value.length(task.count());
    for (CORBA::ULong index = 0; index < value.length(); ++index)
    {
        value[index] = lab::byteAt(index);
    }
    measure(task, value, [&](const FloeLab::Bytes& decoded) {
        return decoded.length() == value.length()
            && std::memcmp(decoded.get_buffer(), value.get_buffer(), value.length()) == 0;
    });
}

void measureDoubles(lab::Task& task)
{
    FloeLab::Doubles value;
    value.length(task.count());
    for (CORBA::ULong index = 0; index < value.length(); ++index)
    {
        value[index] = lab::doubleAt(index);
    }
    measure(task, value, [&](const FloeLab::Doubles& decoded) {
        return decoded.length() == value.length()
            && std::memcmp(decoded.get_buffer(), value.get_buffer(), value.length() * sizeof(double)) == 0;
    });
}

void measureNested(lab::Task& task)
{
    FloeLab::OuterSeq value;
    value.length(lab::OUTER_COUNT);
    for (CORBA::ULong outer = 0; outer < lab::OUTER_COUNT; ++outer)
    {
        auto& records = value[outer].inner;
        records.length(lab::INNER_COUNT);
        for (CORBA::ULong inner = 0; inner < lab::INNER_COUNT; ++inner)
        {
            records[inner].l = lab::integerAt(outer, inner);
            records[inner].d = lab::numberAt(outer, inner);
        }
    }
    measure(task, value, [&](const FloeLab::OuterSeq& decoded) {
        bool isSame = decoded.length() == value.length();
        for (CORBA::ULong outer = 0; isSame && outer < value.length(); ++outer)
        {
            const auto& records = decoded[outer].inner;
            isSame = records.length() == lab::INNER_COUNT;
            for (CORBA::ULong inner = 0; isSame && inner < lab::INNER_COUNT; ++inner)
            {
                isSame = records[inner].l == lab::integerAt(outer, inner)
                    && records[inner].d == lab::numberAt(outer, inner);
            }
        }
        return isSame;
    });
}

void measureText(lab::Task& task)
{
    FloeLab::Lines value;
    value.length(lab::TEXT.size());
    for (CORBA::ULong index = 0; index < value.length(); ++index)
    {
        value[index] = lab::TEXT[index].c_str();
    }
    measure(task, value, [&](const FloeLab::Lines& decoded) {
        bool isSame = decoded.length() == value.length();
        for (CORBA::ULong index = 0; isSame && index < value.length(); ++index)
        {
            isSame = lab::TEXT[index] == static_cast<const char*>(decoded[index]);
        }
        return isSame;
    });
}

FloeLab::Entry entryOf(const lab::Entry& entry)
{
    FloeLab::Entry value;
    value.authors.length(entry.authors.size());
    for (CORBA::ULong index = 0; index < value.authors.length(); ++index)
    {
        value.authors[index].lastname = entry.authors[index].lastname.c_str();
        value.authors[index].initials = entry.authors[index].initials.c_str();
    }
    value.title = entry.title.c_str();
    value.journal = entry.journal.c_str();
    value.year = entry.year;
    value.publisher = entry.publisher.c_str();
    value.location = entry.location.c_str();
    value.edition = entry.edition.c_str();
    value.hyperlink = entry.hyperlink.c_str();
    value.volume = entry.volume;
    value.issue = entry.issue;
    value.page.start = entry.page.start;
    value.page.end = entry.page.end;
    return value;
}

bool isSame(const FloeLab::Entry& value, const lab::Entry& entry)
{
    bool isSame = value.authors.length() == entry.authors.size();
    for (CORBA::ULong index = 0; isSame && index < value.authors.length(); ++index)
    {
        isSame = entry.authors[index].lastname == static_cast<const char*>(value.authors[index].lastname)
            && entry.authors[index].initials == static_cast<const char*>(value.authors[index].initials);
    }
    return isSame && entry.title == static_cast<const char*>(value.title)
        && entry.journal == static_cast<const char*>(value.journal) && value.year == entry.year
        && entry.publisher == static_cast<const char*>(value.publisher)
        && entry.location == static_cast<const char*>(value.location)
        && entry.edition == static_cast<const char*>(value.edition)
        && entry.hyperlink == static_cast<const char*>(value.hyperlink) && value.volume == entry.volume
        && value.issue == entry.issue && value.page.start == entry.page.start
        && value.page.end == entry.page.end;
}

void measureBibliography(lab::Task& task)
{
    FloeLab::Bibliography value;
    value.length(lab::BIBLIOGRAPHY.size());
    for (CORBA::ULong index = 0; index < value.length(); ++index)
    {
        value[index] = entryOf(lab::BIBLIOGRAPHY[index]);
    }
    measure(task, value, [&](const FloeLab::Bibliography& decoded) {
        bool areSame = decoded.length() == value.length();
        for (CORBA::ULong index = 0; areSame && index < value.length(); ++index)
        {
            areSame = isSame(decoded[index], lab::BIBLIOGRAPHY[index]);
        }
        return areSame;
    });
}

}

void work(lab::Task& task)
{
    int argumentCount = 0;
    // Texts need what it knows of this computer's code set.
    const CORBA::ORB_var orb = CORBA::ORB_init(argumentCount, nullptr);
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
