// An unmodified Ice for C++ server of Soak.ice.
//
// Usage: server JOURNAL ENDPOINTS [ICE OPTIONS]
//
// Serves the object "target", prints `ready PROXY`, notes each call in JOURNAL before it answers (see
// tests/soak/src/journal.rs), and ends with standard input.

#include "journal.h"

#include <Ice/Ice.h>
#include <Soak.h>

#include <chrono>
#include <iostream>
#include <thread>

using namespace Soak;

namespace
{

class TargetServant : public Target
{
public:
    explicit TargetServant(const char* path) : _journal(path) {}

    void once(long long id, const Ice::Current&) override { execute(id); }

    void again(long long id, const Ice::Current&) override { execute(id); }

    void refuse(long long id, const Ice::Current&) override
    {
        execute(id);
        throw Refused(id);
    }

    Bytes carry(long long id, Bytes data, const Ice::Current&) override
    {
        execute(id);
        return data;
    }

    void linger(long long id, int duration, const Ice::Current&) override
    {
        std::this_thread::sleep_for(std::chrono::milliseconds(duration));
        execute(id);
    }

    void callBack(long long id, const Ice::Current& current) override
    {
        const auto caller = Ice::uncheckedCast<CallerPrx>(
            current.con->createProxy(Ice::stringToIdentity("caller")));
        // Where the calls of a connection keep their order, none of them can wait for a reply over it.
        caller->ice_oneway()->calledBack(id);
        execute(id);
    }

private:
    void execute(long long id) { _journal.note(id, 'e'); }

    Journal _journal;
};

int serve(int argc, char* argv[])
{
    Ice::InitializationData settings;
    settings.properties = Ice::createProperties(argc, argv);
    // Calls that wait must not hold up those of other connections; those of one stay in their order.
    settings.properties->setProperty("Ice.ThreadPool.Server.Size", "8");
    settings.properties->setProperty("Ice.ThreadPool.Server.SizeMax", "32");
    settings.properties->setProperty("Ice.ThreadPool.Server.Serialize", "1");
    settings.properties->setProperty("Ice.Warn.Dispatch", "0");
    settings.properties->setProperty("Ice.Warn.Connections", "0");
    Ice::CommunicatorHolder holder(settings);
    const auto communicator = holder.communicator();
    const auto adapter = communicator->createObjectAdapterWithEndpoints("Server", argv[2]);
    const auto proxy =
        adapter->add(std::make_shared<TargetServant>(argv[1]), Ice::stringToIdentity("target"));
    adapter->activate();
    std::cout << "ready " << proxy->ice_toString() << std::endl;
    std::string line;
    while (std::getline(std::cin, line))
    {
    }
    return 0;
}

}

int main(int argc, char* argv[])
{
    try
    {
        return serve(argc, argv);
    }
    catch (const std::exception& error)
    {
        std::cerr << "failed: " << error.what() << std::endl;
        return 1;
    }
}
