// omniORB: with its defaults, which are the fast ones: a thread for each connection, and callers that read their own
// replies. Only the length of messages is raised.
//
// Asynchronous calls are those of the polling model, which needs no object for the reply.

#include <omniORB4/CORBA.h>

#include <atomic>

#include "calls.hh"
#include "calls.hpp"

namespace
{

class Servant : public POA_FloeCalls::Calls
{
public:
    void nothing() override { ++count_; }

    void tell() override { ++count_; }

    CORBA::LongLong count() override { return count_; }

    FloeLab::Doubles* echo(const FloeLab::Doubles& values) override { return new FloeLab::Doubles(values); }

    CORBA::LongLong takeBytes(const FloeLab::Bytes& payload) override
    {
        return lab::ackOfBytes(payload.get_buffer(), payload.length());
    }

    CORBA::Double takeRecords(const FloeLab::OuterSeq& records) override
    {
        double sum = 0;
        for (CORBA::ULong outer = 0; outer < records.length(); ++outer)
        {
            const auto& inner = records[outer].inner;
            for (CORBA::ULong index = 0; index < inner.length(); ++index)
            {
                sum += static_cast<double>(inner[index].l) + inner[index].d;
            }
        }
        return sum;
    }

private:
    // A thread for each connection; asynchronous calls use several.
    std::atomic<CORBA::LongLong> count_{0};
};

// Milliseconds to wait for a reply.
const CORBA::ULong FOREVER = 0xffffffff;

FloeLab::OuterSeq records(std::size_t count)
{
    FloeLab::OuterSeq value;
    value.length(count);
    for (CORBA::ULong outer = 0; outer < count; ++outer)
    {
        value[outer].inner.length(lab::INNER_COUNT);
        for (CORBA::ULong inner = 0; inner < lab::INNER_COUNT; ++inner)
        {
            value[outer].inner[inner].l = lab::integerAt(outer, inner);
            value[outer].inner[inner].d = lab::numberAt(outer, inner);
        }
    }
    return value;
}

CORBA::ORB_var start(const char* endpoint)
{
    const std::string lenMax = std::to_string(lab::MESSAGE_LEN_MAX);
    const char* options[][2] = {{"giopMaxMsgSize", lenMax.c_str()}, {"endPoint", endpoint}, {nullptr, nullptr}};
    if (!endpoint)
    {
        options[1][0] = nullptr;
    }
    int argc = 0;
    return CORBA::ORB_init(argc, nullptr, "omniORB4", options);
}

}

void lab::serve(const Task& task)
{
    const std::string endpoint = task.isUnix ? "giop:unix:" + socketPath() : "giop:tcp:127.0.0.1:";
    CORBA::ORB_var orb = start(endpoint.c_str());
    CORBA::Object_var object = orb->resolve_initial_references("RootPOA");
    PortableServer::POA_var poa = PortableServer::POA::_narrow(object);
    PortableServer::Servant_var<Servant> servant = new Servant;
    PortableServer::ObjectId_var id = poa->activate_object(servant);
    FloeCalls::Calls_var calls = servant->_this();
    PortableServer::POAManager_var manager = poa->the_POAManager();
    manager->activate();
    CORBA::String_var text = orb->object_to_string(calls);
    announce(text.in());
    waitForEnd();
    orb->destroy();
}

void lab::call(Task& task, const std::string& address)
{
    CORBA::ORB_var orb = start(nullptr);
    CORBA::Object_var object = orb->string_to_object(address.c_str());
    FloeCalls::Calls_var calls = FloeCalls::Calls::_narrow(object);
    const auto counted = [&] { return calls->count(); };
    switch (task.work)
    {
    case Work::Twoway:
    case Work::TwowayBlocking:
        task.measureCalls(1, 0, [&] { calls->nothing(); }, counted);
        break;
    case Work::Ami:
    {
        const auto once = [&] {
            FloeCalls::AMI_CallsPoller_var call = calls->sendp_nothing();
            call->nothing(FOREVER);
        };
        task.measureCalls(1, 0, once, counted);
        break;
    }
    case Work::AmiMany:
    {
        std::vector<FloeCalls::AMI_CallsPoller_var> inFlight(IN_FLIGHT);
        const auto once = [&] {
            for (auto& call : inFlight)
            {
                call = calls->sendp_nothing();
            }
            for (auto& call : inFlight)
            {
                call->nothing(FOREVER);
            }
        };
        task.measureCalls(IN_FLIGHT, 0, once, counted);
        break;
    }
    case Work::Oneway:
    {
        const auto once = [&] {
            for (int i = 0; i < task.oneways; ++i)
            {
                calls->tell();
            }
            calls->nothing();
        };
        task.measureCalls(task.oneways, 1, once, counted);
        break;
    }
    case Work::Echo:
    {
        auto values = doubles(task.count);
        // Lent: the sequence does not copy it.
        const FloeLab::Doubles sent(values.size(), values.size(), values.data(), false);
        task.measureEcho([&](auto check) {
            FloeLab::Doubles_var echo = calls->echo(sent);
            check(echo->length(), [&](std::size_t index) { return echo[static_cast<CORBA::ULong>(index)]; });
        });
        break;
    }
    case Work::AckBytes:
    {
        auto values = bytes(task.count);
        const FloeLab::Bytes payload(values.size(), values.size(), values.data(), false);
        task.measureAck([&] { return calls->takeBytes(payload); });
        break;
    }
    case Work::AckNested:
    {
        const auto value = records(task.count);
        task.measureAck([&] { return calls->takeRecords(value); });
        break;
    }
    default:
        task.refuse();
    }
    orb->destroy();
}
