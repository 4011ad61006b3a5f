// Publishers and subscribers of the scenario `events` with Ice: see events.hpp. Both have four worker threads, as in the
// published test; those of a subscriber take the events of a connection one after the other.

#include <Ice/Ice.h>
#include <IceStorm/IceStorm.h>

#include <iomanip>
#include <sstream>

#include "Events.h"
#include "events.hpp"

namespace
{

Ice::CommunicatorPtr communicator()
{
    Ice::InitializationData data;
    data.properties = Ice::createProperties();
    for (const std::string pool : {"Ice.ThreadPool.Client", "Ice.ThreadPool.Server"})
    {
        data.properties->setProperty(pool + ".Size", "4");
        data.properties->setProperty(pool + ".SizeMax", "4");
        data.properties->setProperty(pool + ".Serialize", "1");
    }
    return Ice::initialize(data);
}

std::shared_ptr<IceStorm::TopicPrx> topic(const Ice::CommunicatorPtr& communicator, const std::string& address)
{
    const auto manager = Ice::uncheckedCast<IceStorm::TopicManagerPrx>(communicator->stringToProxy(address));
    while (true)
    {
        try
        {
            return manager->retrieve("tick");
        }
        catch (const IceStorm::NoSuchTopic&)
        {
        }
        try
        {
            return manager->create("tick");
        }
        catch (const IceStorm::TopicExists&)
        {
            // Another one was faster.
        }
    }
}

class Subscriber : public FloeEvents::Ticker
{
public:
    explicit Subscriber(lab::Tally& tally) : tally_(tally) {}

    void tick(long long number, const Ice::Current&) override { tally_.take(number); }

private:
    lab::Tally& tally_;
};

}

lab::Publish lab::publisher(const Task& task, const std::string& address)
{
    const auto communicator = ::communicator();
    const auto twoway =
        Ice::uncheckedCast<FloeEvents::TickerPrx>(topic(communicator, address)->getPublisher());
    if (!task.isBatched())
    {
        return [communicator, twoway](const Numbers& numbers) { twoway->tick(numbers.front()); };
    }
    const auto batch = twoway->ice_batchOneway();
    return [communicator, batch](const Numbers& numbers) {
        for (const auto number : numbers)
        {
            batch->tick(number);
        }
        batch->ice_flushBatchRequests();
    };
}

void lab::subscriber(const Task& task, Tally& tally, const std::string& address)
{
    static const auto communicator = ::communicator();
    const auto adapter = communicator->createObjectAdapterWithEndpoints("subscriber", "tcp -h 127.0.0.1 -p 0");
    std::ostringstream name;
    name << "tick.subscriber." << std::setw(4) << std::setfill('0') << task.index;
    auto proxy = adapter->add(std::make_shared<Subscriber>(tally), Ice::stringToIdentity(name.str()));
    adapter->activate();
    proxy = task.isBatched() ? proxy->ice_batchOneway() : proxy->ice_twoway();
    topic(communicator, address)->subscribeAndGetPublisher({}, proxy);
    communicator->waitForShutdown();
}
