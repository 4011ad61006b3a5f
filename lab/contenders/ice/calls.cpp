// Ice, in C++: what an Ice program of a user would do, with Ice's default settings but for the length of messages.
//
// Doubles and bytes are taken without a copy, as `["cpp:array"]` lets them.

#include <Ice/Ice.h>

#include <future>
#include <memory>

#include "Calls.h"
#include "calls.hpp"

namespace
{

class Servant : public FloeCalls::Calls
{
public:
    void nothing(const Ice::Current&) override { ++count_; }

    Ice::Long count(const Ice::Current&) override { return count_; }

    FloeCalls::Samples echo(std::pair<const double*, const double*> values, const Ice::Current&) override
    {
        return FloeCalls::Samples(values.first, values.second);
    }

    Ice::Long takeBytes(std::pair<const Ice::Byte*, const Ice::Byte*> payload, const Ice::Current&) override
    {
        return lab::ackOfBytes(payload.first, payload.second - payload.first);
    }

    double takeRecords(FloeLab::OuterSeq records, const Ice::Current&) override
    {
        double sum = 0;
        for (const auto& outer : records)
        {
            for (const auto& inner : outer.inner)
            {
                sum += static_cast<double>(inner.l) + inner.d;
            }
        }
        return sum;
    }

private:
    // The server has one thread.
    Ice::Long count_ = 0;
};

FloeLab::OuterSeq records(std::size_t count)
{
    FloeLab::OuterSeq value(count);
    for (std::size_t outer = 0; outer < count; ++outer)
    {
        for (std::size_t inner = 0; inner < lab::INNER_COUNT; ++inner)
        {
            value[outer].inner.push_back({lab::integerAt(outer, inner), lab::numberAt(outer, inner)});
        }
    }
    return value;
}

Ice::InitializationData settings()
{
    Ice::InitializationData data;
    data.properties = Ice::createProperties();
    data.properties->setProperty("Ice.MessageSizeMax", std::to_string(lab::MESSAGE_LEN_MAX / 1024));
    return data;
}

template<class T>
std::pair<const T*, const T*> range(const std::vector<T>& values)
{
    return {values.data(), values.data() + values.size()};
}

}

void lab::serve(const Task&)
{
    Ice::CommunicatorHolder communicator(settings());
    auto adapter = communicator->createObjectAdapterWithEndpoints("Lab", "tcp -h 127.0.0.1 -p 0");
    auto proxy = adapter->add(std::make_shared<Servant>(), Ice::stringToIdentity("calls"));
    adapter->activate();
    announce(proxy->ice_toString());
    waitForEnd();
}

void lab::call(Task& task, const std::string& address)
{
    Ice::CommunicatorHolder communicator(settings());
    auto calls = Ice::uncheckedCast<FloeCalls::CallsPrx>(communicator->stringToProxy(address));
    auto oneway = calls->ice_oneway();
    auto batch = calls->ice_batchOneway();
    const auto counted = [&] { return calls->count(); };
    switch (task.work)
    {
    case Work::Twoway:
    case Work::TwowayBlocking:
        return task.measureCalls(1, 0, [&] { calls->nothing(); }, counted);
    case Work::Ami:
        return task.measureCalls(1, 0, [&] { calls->nothingAsync().get(); }, counted);
    case Work::AmiMany:
    {
        std::vector<std::future<void>> inFlight(IN_FLIGHT);
        const auto once = [&] {
            for (auto& call : inFlight)
            {
                call = calls->nothingAsync();
            }
            for (auto& call : inFlight)
            {
                call.get();
            }
        };
        return task.measureCalls(IN_FLIGHT, 0, once, counted);
    }
    case Work::Oneway:
    {
        const auto once = [&] {
            for (int i = 0; i < task.oneways; ++i)
            {
                oneway->nothing();
            }
            calls->nothing();
        };
        return task.measureCalls(task.oneways, 1, once, counted);
    }
    case Work::Batch:
    {
        const auto once = [&] {
            for (int i = 0; i < task.batches; ++i)
            {
                for (int k = 0; k < task.batchLen; ++k)
                {
                    batch->nothing();
                }
                batch->ice_flushBatchRequests();
            }
            calls->nothing();
        };
        return task.measureCalls(task.batches * task.batchLen, 1, once, counted);
    }
    case Work::Echo:
    {
        const auto values = doubles(task.count);
        return task.measureEcho([&](auto check) {
            const auto echo = calls->echo(range(values));
            check(echo.size(), [&](std::size_t index) { return echo[index]; });
        });
    }
    case Work::AckBytes:
    {
        const auto payload = bytes(task.count);
        return task.measureAck([&] { return calls->takeBytes(range(payload)); });
    }
    case Work::AckNested:
    {
        const auto value = records(task.count);
        return task.measureAck([&] { return calls->takeRecords(value); });
    }
    }
}
