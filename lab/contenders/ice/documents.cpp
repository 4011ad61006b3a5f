// Ice, in C++: documents over a slow line, compressed with bzip2 if LAB_COMPRESS is defined.

#include <Ice/Ice.h>

#include <atomic>
#include <memory>

#include "Documents.h"
#include "documents.hpp"

namespace
{

class Servant : public FloeDocuments::Library
{
public:
    void takeText(FloeLab::Lines text, const Ice::Current&) override { taken_ += text.size(); }

    void takeBibliography(FloeLab::Bibliography bibliography, const Ice::Current&) override
    {
        taken_ += bibliography.size();
    }

    Ice::Long taken(const Ice::Current&) override { return taken_; }

private:
    std::atomic<Ice::Long> taken_{0};
};

FloeLab::Bibliography bibliography(const std::vector<lab::Entry>& entries)
{
    FloeLab::Bibliography value;
    for (const auto& entry : entries)
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

void lab::serve()
{
    Ice::CommunicatorHolder communicator{Ice::InitializationData()};
    auto adapter = communicator->createObjectAdapterWithEndpoints("Lab", "tcp -p 0 -h " + host());
    auto proxy = adapter->add(std::make_shared<Servant>(), Ice::stringToIdentity("library"));
    adapter->activate();
    announce(proxy->ice_toString());
    waitForEnd();
}

void lab::call(Task& task, const std::string& address)
{
    Ice::CommunicatorHolder communicator{Ice::InitializationData()};
    auto library = Ice::uncheckedCast<FloeDocuments::LibraryPrx>(communicator->stringToProxy(address));
#ifdef LAB_COMPRESS
    library = library->ice_compress(true);
#endif
    library->ice_ping();
    const auto send = [&](const std::vector<Entry>& entries) {
        if (task.isText)
        {
            library->takeText(TEXT);
        }
        else
        {
            library->takeBibliography(bibliography(entries));
        }
    };
    task.measure(send, [&] { return library->taken(); });
}
