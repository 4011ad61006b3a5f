// Cap'n Proto: its RPC between two vats, with the event loop of its own library, in messages that are long enough for
// one segment. Calls without a reply are streaming calls.
//
// Values are written into a request anew for each call, and read in place.

#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>

#include "calls.capnp.h"
#include "calls.hpp"

namespace
{

using floe_calls::Calls;

// In words of 8 bytes, with room for what the protocol adds.
capnp::MessageSize sizeOf(std::uint64_t words)
{
    return {words + 64, 0};
}

class Servant : public Calls::Server
{
protected:
    kj::Promise<void> nothing(NothingContext) override
    {
        ++count_;
        return kj::READY_NOW;
    }

    kj::Promise<void> tell(TellContext) override
    {
        ++count_;
        return kj::READY_NOW;
    }

    kj::Promise<void> count(CountContext context) override
    {
        context.getResults(sizeOf(1)).setValue(count_);
        return kj::READY_NOW;
    }

    kj::Promise<void> echo(EchoContext context) override
    {
        const auto values = context.getParams().getValues();
        context.getResults(sizeOf(values.size())).setValues(values);
        return kj::READY_NOW;
    }

    kj::Promise<void> takeBytes(TakeBytesContext context) override
    {
        const auto payload = context.getParams().getPayload();
        context.getResults(sizeOf(1)).setValue(lab::ackOfBytes(payload.begin(), payload.size()));
        return kj::READY_NOW;
    }

    kj::Promise<void> takeRecords(TakeRecordsContext context) override
    {
        double sum = 0;
        for (const auto outer : context.getParams().getRecords())
        {
            for (const auto inner : outer.getInner())
            {
                sum += static_cast<double>(inner.getL()) + inner.getD();
            }
        }
        context.getResults(sizeOf(1)).setValue(sum);
        return kj::READY_NOW;
    }

private:
    // The event loop is one thread.
    std::int64_t count_ = 0;
};

void fill(capnp::List<floe_lab::Outer>::Builder records)
{
    for (unsigned outer = 0; outer < records.size(); ++outer)
    {
        auto of = records[outer].initInner(lab::INNER_COUNT);
        for (unsigned inner = 0; inner < lab::INNER_COUNT; ++inner)
        {
            of[inner].setL(lab::integerAt(outer, inner));
            of[inner].setD(lab::numberAt(outer, inner));
        }
    }
}

}

void lab::serve(const Task& task)
{
    auto io = kj::setupAsyncIo();
    const std::string path = "unix:" + socketPath();
    auto& network = io.provider->getNetwork();
    auto address = network.parseAddress(task.isUnix ? path.c_str() : "127.0.0.1:0").wait(io.waitScope);
    auto receiver = address->listen();
    announce(task.isUnix ? path : "127.0.0.1:" + std::to_string(receiver->getPort()));
    endWithStdin();
    capnp::TwoPartyServer server(kj::heap<Servant>());
    server.listen(*receiver).wait(io.waitScope);
}

void lab::call(Task& task, const std::string& address)
{
    auto io = kj::setupAsyncIo();
    auto& waitScope = io.waitScope;
    auto& network = io.provider->getNetwork();
    auto stream = network.parseAddress(address.c_str()).wait(waitScope)->connect().wait(waitScope);
    capnp::TwoPartyClient client(*stream);
    auto calls = client.bootstrap().castAs<Calls>();
    const auto nothing = [&] { calls.nothingRequest(sizeOf(0)).send().wait(waitScope); };
    const auto counted = [&] { return calls.countRequest().send().wait(waitScope).getValue(); };
    switch (task.work)
    {
    case Work::Twoway:
    case Work::TwowayBlocking:
    case Work::Ami:
        return task.measureCalls(1, 0, nothing, counted);
    case Work::AmiMany:
    {
        const auto once = [&] {
            auto inFlight = kj::heapArrayBuilder<kj::Promise<void>>(IN_FLIGHT);
            for (int i = 0; i < IN_FLIGHT; ++i)
            {
                inFlight.add(calls.nothingRequest(sizeOf(0)).send().ignoreResult());
            }
            kj::joinPromises(inFlight.finish()).wait(waitScope);
        };
        return task.measureCalls(IN_FLIGHT, 0, once, counted);
    }
    case Work::Oneway:
    {
        const auto once = [&] {
            for (int i = 0; i < task.oneways; ++i)
            {
                calls.tellRequest(sizeOf(0)).send().wait(waitScope);
            }
            nothing();
        };
        return task.measureCalls(task.oneways, 1, once, counted);
    }
    case Work::Echo:
    {
        const auto sent = doubles(task.count);
        return task.measureEcho([&](auto check) {
            auto request = calls.echoRequest(sizeOf(sent.size()));
            auto values = request.initValues(sent.size());
            for (unsigned index = 0; index < sent.size(); ++index)
            {
                values.set(index, sent[index]);
            }
            const auto response = request.send().wait(waitScope);
            const auto echo = response.getValues();
            check(echo.size(), [&](std::size_t index) { return echo[static_cast<unsigned>(index)]; });
        });
    }
    case Work::AckBytes:
    {
        const auto payload = bytes(task.count);
        return task.measureAck([&] {
            auto request = calls.takeBytesRequest(sizeOf(payload.size() / 8 + 1));
            request.setPayload(kj::arrayPtr(payload.data(), payload.size()));
            return request.send().wait(waitScope).getValue();
        });
    }
    case Work::AckNested:
        return task.measureAck([&] {
            // A pointer for each record; for its sequence a tag, and two words each.
            auto request = calls.takeRecordsRequest(sizeOf(task.count * (2 + 2 * INNER_COUNT)));
            fill(request.initRecords(task.count));
            return request.send().wait(waitScope).getValue();
        });
    default:
        task.refuse();
    }
}
