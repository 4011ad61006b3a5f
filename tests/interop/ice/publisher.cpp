// An unmodified Ice for C++ publisher to an IceStorm topic.
//
// Usage: publisher MANAGER TOPIC MODE COUNT [ICE OPTIONS]
//
// MANAGER is the proxy of a topic manager, MODE one of twoway, short-lived, oneway, batch, datagram. A short-lived event
// has a lifespan of a millisecond. Makes the topic if it is not there, publishes COUNT events of the interface Interop::Events, the last of which is `flagged`, and prints `published COUNT`.

#include <Ice/Ice.h>
#include <IceStorm/IceStorm.h>
#include <Interop.h>

#include <iostream>
#include <map>

using namespace Interop;

namespace
{

std::shared_ptr<IceStorm::TopicPrx> findTopic(
    const std::shared_ptr<IceStorm::TopicManagerPrx>& manager, const std::string& name)
{
    try
    {
        return manager->retrieve(name);
    }
    catch (const IceStorm::NoSuchTopic&)
    {
        return manager->create(name);
    }
}

std::shared_ptr<Ice::ObjectPrx> inMode(const std::shared_ptr<Ice::ObjectPrx>& proxy, const std::string& mode)
{
    const std::map<std::string, std::shared_ptr<Ice::ObjectPrx>> modes{
        {"twoway", proxy->ice_twoway()},
        {"short-lived", proxy->ice_twoway()->ice_context({{"floe.lifespan", "1"}})},
        {"oneway", proxy->ice_oneway()},
        {"batch", proxy->ice_batchOneway()},
        {"datagram", proxy->ice_datagram()}};
    return modes.at(mode);
}

void publish(const std::shared_ptr<EventsPrx>& events, int count)
{
    for (int number = 0; number < count - 1; ++number)
    {
        events->sampled({number, "event " + std::to_string(number), {number * 1.0, number / 2.0}});
    }
    events->flagged("last", true);
}

int publishAll(int argc, char* argv[])
{
    Ice::CommunicatorHolder communicator(argc, argv);
    if (argc != 5)
    {
        throw std::invalid_argument("expected MANAGER TOPIC MODE COUNT");
    }
    const std::string mode = argv[3];
    const auto manager = Ice::checkedCast<IceStorm::TopicManagerPrx>(communicator->stringToProxy(argv[1]));
    const auto publisher = findTopic(manager, argv[2])->getPublisher();
    const auto events = Ice::uncheckedCast<EventsPrx>(inMode(publisher, mode));
    publish(events, std::stoi(argv[4]));
    if (mode == "batch")
    {
        events->ice_flushBatchRequests();
    }
    // What was sent oneway is surely on its way once the connection has closed gracefully.
    events->ice_getConnection()->close(Ice::ConnectionClose::GracefullyWithWait);
    std::cout << "published " << argv[4] << std::endl;
    return 0;
}

}

int main(int argc, char* argv[])
{
    try
    {
        return publishAll(argc, argv);
    }
    catch (const std::exception& error)
    {
        std::cerr << "failed: " << error.what() << std::endl;
        return 1;
    }
}
