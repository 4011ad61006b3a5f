// The scenario `pubsub-rtt` with Ice: see topics.hpp. Both topics are published and delivered by oneway calls.

#include <Ice/Ice.h>
#include <IceStorm/IceStorm.h>

#include "Topics.h"
#include "topics.hpp"

namespace
{

using TopicPtr = std::shared_ptr<IceStorm::TopicPrx>;

TopicPtr topic(const Ice::CommunicatorPtr& communicator, const std::string& address, const std::string& name)
{
    const auto manager = Ice::uncheckedCast<IceStorm::TopicManagerPrx>(communicator->stringToProxy(address));
    while (true)
    {
        try
        {
            return manager->retrieve(name);
        }
        catch (const IceStorm::NoSuchTopic&)
        {
        }
        try
        {
            return manager->create(name);
        }
        catch (const IceStorm::TopicExists&)
        {
            // Another one was faster.
        }
    }
}

void subscribe(const Ice::CommunicatorPtr& communicator, const std::string& address, const std::string& name,
               const std::shared_ptr<Ice::Object>& servant)
{
    const auto adapter = communicator->createObjectAdapterWithEndpoints("subscriber", "tcp -h 127.0.0.1 -p 0");
    const auto proxy = adapter->add(servant, Ice::stringToIdentity(name + ".subscriber"));
    adapter->activate();
    topic(communicator, address, name)->subscribeAndGetPublisher({}, proxy->ice_oneway());
}

FloeLab::OuterSeq records(std::size_t count)
{
    FloeLab::OuterSeq value(count);
    for (std::size_t outer = 0; outer < count; ++outer)
    {
        for (std::size_t inner = 0; inner < lab::INNER_COUNT; ++inner)
        {
            const auto number = static_cast<Ice::Long>(outer * lab::INNER_COUNT + inner);
            value[outer].inner.push_back({number, static_cast<double>(number) * 0.25});
        }
    }
    return value;
}

class Answers : public FloeTopics::Ack
{
public:
    explicit Answers(lab::Pinger& pinger) : pinger_(pinger) {}

    void acknowledge(int number, const Ice::Current&) override { pinger_.answered(number); }

private:
    lab::Pinger& pinger_;
};

class Replies : public FloeTopics::Ping
{
public:
    Replies(const lab::Task& task, std::shared_ptr<FloeTopics::AckPrx> acks)
        : bytes_(task.bytes()), records_(task.isNested ? records(task.count) : FloeLab::OuterSeq()), acks_(std::move(acks))
    {
    }

    void pingBytes(int number, std::pair<const Ice::Byte*, const Ice::Byte*> payload, const Ice::Current&) override
    {
        const auto len = static_cast<std::size_t>(payload.second - payload.first);
        check(len == bytes_.size() && std::memcmp(payload.first, bytes_.data(), len) == 0);
        acks_->acknowledge(number);
    }

    void pingRecords(int number, FloeLab::OuterSeq records, const Ice::Current&) override
    {
        check(records.size() == records_.size() && (isChecked_ || records == records_));
        // As the other contenders: all of the first message, and of the others the length.
        isChecked_ = true;
        acks_->acknowledge(number);
    }

private:
    static void check(bool isRight)
    {
        if (!isRight)
        {
            lab::die("expected the message of the case, got another");
        }
    }

    const std::vector<std::uint8_t> bytes_;
    const FloeLab::OuterSeq records_;
    const std::shared_ptr<FloeTopics::AckPrx> acks_;
    bool isChecked_ = false;
};

}

void lab::ping(const Task& task, const std::string& address)
{
    static const Ice::CommunicatorPtr communicator = Ice::initialize();
    const auto publisher = topic(communicator, address, "ping")->getPublisher()->ice_oneway();
    const auto messages = Ice::uncheckedCast<FloeTopics::PingPrx>(publisher);
    const auto bytes = task.bytes();
    const auto nested = task.isNested ? records(task.count) : FloeLab::OuterSeq();
    Pinger pinger([&](std::int32_t number) {
        if (task.isNested)
        {
            messages->pingRecords(number, nested);
            return;
        }
        messages->pingBytes(number, std::make_pair(bytes.data(), bytes.data() + bytes.size()));
    });
    subscribe(communicator, address, "ack", std::make_shared<Answers>(pinger));
    pinger.probe();
    communicator->waitForShutdown();
}

void lab::reply(const Task& task, const std::string& address)
{
    static const Ice::CommunicatorPtr communicator = Ice::initialize();
    const auto publisher = topic(communicator, address, "ack")->getPublisher()->ice_oneway();
    const auto acks = Ice::uncheckedCast<FloeTopics::AckPrx>(publisher);
    subscribe(communicator, address, "ping", std::make_shared<Replies>(task, acks));
    communicator->waitForShutdown();
}
