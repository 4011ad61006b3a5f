// The scenarios `scale` and `qos` with Ice: see fanout.hpp. Each subscriber has an endpoint of its own, so that IceStorm has a
// connection to each; each publisher has a connection of its own.

#include <Ice/Ice.h>
#include <IceStorm/IceStorm.h>

#include "Topics.h"
#include "fanout.hpp"

namespace
{

std::shared_ptr<IceStorm::TopicPrx> topic(const Ice::CommunicatorPtr& communicator, const std::string& address)
{
    const auto manager = Ice::uncheckedCast<IceStorm::TopicManagerPrx>(communicator->stringToProxy(address));
    try
    {
        return manager->create("fanout");
    }
    catch (const IceStorm::TopicExists&)
    {
        return manager->retrieve("fanout");
    }
}

class Subscriber : public FloeTopics::Ping
{
public:
    Subscriber(const lab::Task& task, lab::Waves& waves, std::size_t index) : task_(task), waves_(waves), index_(index) {}

    void pingBytes(int number, std::pair<const Ice::Byte*, const Ice::Byte*> payload, const Ice::Current&) override
    {
        if (static_cast<std::size_t>(payload.second - payload.first) != task_.payloadLen)
        {
            lab::die("expected an event of the case, got another");
        }
        waves_.took(index_, number);
    }

    void pingRecords(int, FloeLab::OuterSeq, const Ice::Current&) override { lab::die("expected bytes, got records"); }

private:
    const lab::Task& task_;
    lab::Waves& waves_;
    const std::size_t index_;
};

// How events are sent, by publishers and to subscribers.
std::shared_ptr<Ice::ObjectPrx> sentAs(const lab::Task& task, const std::shared_ptr<Ice::ObjectPrx>& proxy)
{
    if (task.quality == "twoway" || task.quality == "ordered")
    {
        return proxy->ice_twoway();
    }
    if (task.quality == "batched")
    {
        return proxy->ice_batchOneway();
    }
    return proxy->ice_oneway();
}

}

void lab::fanout(const Task& task, Waves& waves, const std::string& address)
{
    const auto properties = Ice::createProperties();
    if (task.quality == "compressed")
    {
        properties->setProperty("Ice.Override.Compress", "1");
    }
    Ice::InitializationData data;
    data.properties = properties;
    static const Ice::CommunicatorPtr communicator = Ice::initialize(data);
    const auto topic = ::topic(communicator, address);
    IceStorm::QoS qos;
    if (task.quality == "ordered")
    {
        qos["reliability"] = "ordered";
    }
    const std::string endpoint = task.quality == "compressed" ? "tcp -h 127.0.0.1 -p 0 -z" : "tcp -h 127.0.0.1 -p 0";
    for (std::size_t index = 0; index < task.subscribers; ++index)
    {
        const auto name = "subscriber" + std::to_string(index);
        const auto adapter = communicator->createObjectAdapterWithEndpoints(name, endpoint);
        const auto proxy = adapter->add(std::make_shared<Subscriber>(task, waves, index), Ice::stringToIdentity(name));
        adapter->activate();
        topic->subscribeAndGetPublisher(qos, sentAs(task, proxy));
    }
    std::vector<std::shared_ptr<FloeTopics::PingPrx>> publishers;
    for (std::size_t index = 0; index < task.publishers; ++index)
    {
        const auto publisher = topic->getPublisher()->ice_connectionId(std::to_string(index));
        publishers.push_back(Ice::uncheckedCast<FloeTopics::PingPrx>(sentAs(task, publisher)));
    }
    const auto payload = task.payload();
    const bool isBatched = task.quality == "batched";
    waves.run(
        [&](std::size_t publisher, std::int32_t number) {
            publishers[publisher]->pingBytes(number, std::make_pair(payload.data(), payload.data() + payload.size()));
        },
        [&] {
            for (const auto& publisher : publishers)
            {
                if (isBatched)
                {
                    publisher->ice_flushBatchRequests();
                }
            }
        });
    communicator->waitForShutdown();
}
