// omniORB: documents over a slow line. CORBA has no compression of its own.

#include <omniORB4/CORBA.h>

#include <atomic>

#include "documents.hh"
#include "documents.hpp"

namespace
{

class Servant : public POA_FloeDocuments::Library
{
public:
    void takeText(const FloeLab::Lines& text) override { taken_ += text.length(); }

    void takeBibliography(const FloeLab::Bibliography& bibliography) override { taken_ += bibliography.length(); }

    CORBA::LongLong taken() override { return taken_; }

private:
    std::atomic<CORBA::LongLong> taken_{0};
};

FloeLab::Lines text()
{
    FloeLab::Lines value;
    value.length(lab::TEXT.size());
    for (CORBA::ULong index = 0; index < value.length(); ++index)
    {
        value[index] = lab::TEXT[index].c_str();
    }
    return value;
}

FloeLab::Bibliography bibliography(const std::vector<lab::Entry>& entries)
{
    FloeLab::Bibliography all;
    all.length(entries.size());
    for (CORBA::ULong number = 0; number < all.length(); ++number)
    {
        const auto& entry = entries[number];
        auto& value = all[number];
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
    }
    return all;
}

CORBA::ORB_var start(const char* endpoint)
{
    const char* options[][2] = {{"endPoint", endpoint}, {nullptr, nullptr}};
    int argc = 0;
    return CORBA::ORB_init(argc, nullptr, "omniORB4", endpoint ? options : options + 1);
}

}

void lab::serve()
{
    CORBA::ORB_var orb = start(("giop:tcp:" + host() + ":").c_str());
    CORBA::Object_var object = orb->resolve_initial_references("RootPOA");
    PortableServer::POA_var poa = PortableServer::POA::_narrow(object);
    PortableServer::Servant_var<Servant> servant = new Servant;
    PortableServer::ObjectId_var id = poa->activate_object(servant);
    FloeDocuments::Library_var library = servant->_this();
    PortableServer::POAManager_var manager = poa->the_POAManager();
    manager->activate();
    CORBA::String_var address = orb->object_to_string(library);
    announce(address.in());
    waitForEnd();
    orb->destroy();
}

void lab::call(Task& task, const std::string& address)
{
    CORBA::ORB_var orb = start(nullptr);
    CORBA::Object_var object = orb->string_to_object(address.c_str());
    FloeDocuments::Library_var library = FloeDocuments::Library::_narrow(object);
    library->taken();
    const auto send = [&](const std::vector<Entry>& entries) {
        if (task.isText)
        {
            library->takeText(text());
        }
        else
        {
            library->takeBibliography(bibliography(entries));
        }
    };
    task.measure(send, [&] { return library->taken(); });
    orb->destroy();
}
