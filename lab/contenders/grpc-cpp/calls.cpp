// gRPC, in C++: servants of the callback interface, as its "Performance Best Practices" advise, and a client that
// blocks, or takes callbacks where many calls are in flight. What is not answered is a stream.

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "calls.grpc.pb.h"
#include "calls.hpp"

namespace
{

using floe_calls::Calls;
using floe_calls::Empty;
using floe_calls::Integer;
using floe_calls::Sum;
using floe_lab::Bytes;
using floe_lab::Doubles;
using floe_lab::Nested;

grpc::ServerUnaryReactor* finished(grpc::CallbackServerContext* context)
{
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
}

class TellReactor : public grpc::ServerReadReactor<Empty>
{
public:
    explicit TellReactor(Integer* answer) : answer_(answer) { StartRead(&empty_); }

    void OnReadDone(bool isMore) override
    {
        if (isMore)
        {
            ++count_;
            StartRead(&empty_);
            return;
        }
        answer_->set_value(count_);
        Finish(grpc::Status::OK);
    }

    void OnDone() override { delete this; }

private:
    Integer* answer_;
    Empty empty_;
    std::int64_t count_ = 0;
};

class Servant : public Calls::CallbackService
{
public:
    grpc::ServerUnaryReactor* Nothing(grpc::CallbackServerContext* context, const Empty*, Empty*) override
    {
        ++count_;
        return finished(context);
    }

    grpc::ServerReadReactor<Empty>* Tell(grpc::CallbackServerContext*, Integer* answer) override
    {
        return new TellReactor(answer);
    }

    grpc::ServerUnaryReactor* Count(grpc::CallbackServerContext* context, const Empty*, Integer* answer) override
    {
        answer->set_value(count_);
        return finished(context);
    }

    grpc::ServerUnaryReactor* Echo(
        grpc::CallbackServerContext* context, const Doubles* values, Doubles* answer) override
    {
        answer->mutable_value()->CopyFrom(values->value());
        return finished(context);
    }

    grpc::ServerUnaryReactor* TakeBytes(
        grpc::CallbackServerContext* context, const Bytes* payload, Integer* answer) override
    {
        answer->set_value(lab::ackOfBytes(payload->value().data(), payload->value().size()));
        return finished(context);
    }

    grpc::ServerUnaryReactor* TakeRecords(
        grpc::CallbackServerContext* context, const Nested* records, Sum* answer) override
    {
        double sum = 0;
        for (const auto& outer : records->outer())
        {
            for (const auto& inner : outer.inner())
            {
                sum += static_cast<double>(inner.l()) + inner.d();
            }
        }
        answer->set_value(sum);
        return finished(context);
    }

private:
    // The library has several threads.
    std::atomic<std::int64_t> count_{0};
};

void expectDone(const grpc::Status& status)
{
    if (!status.ok())
    {
        lab::fail("expected a reply, got: " + status.error_message());
    }
}

Nested records(std::size_t count)
{
    Nested value;
    for (std::size_t outer = 0; outer < count; ++outer)
    {
        auto* record = value.add_outer();
        for (std::size_t inner = 0; inner < lab::INNER_COUNT; ++inner)
        {
            auto* of = record->add_inner();
            of->set_l(lab::integerAt(outer, inner));
            of->set_d(lab::numberAt(outer, inner));
        }
    }
    return value;
}

class Client
{
public:
    explicit Client(const std::string& address)
    {
        grpc::ChannelArguments arguments;
        arguments.SetMaxReceiveMessageSize(lab::MESSAGE_LEN_MAX);
        stub_ = Calls::NewStub(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
    }

    // Of an operation that returns a value.
    template<class Request, class Answer>
    Answer call(
        grpc::Status (Calls::Stub::*operation)(grpc::ClientContext*, const Request&, Answer*), const Request& request)
    {
        grpc::ClientContext context;
        Answer answer;
        expectDone((stub_.get()->*operation)(&context, request, &answer));
        return answer;
    }

    // Begins so many calls of `Nothing`, and waits for all.
    void callMany(int count)
    {
        struct Call
        {
            grpc::ClientContext context;
            Empty answer;
        };
        // A context serves one call.
        std::vector<Call> calls(count);
        std::mutex mutex;
        std::condition_variable ended;
        int missing = count;
        int failed = 0;
        for (auto& call : calls)
        {
            stub_->async()->Nothing(&call.context, &empty_, &call.answer, [&](const grpc::Status& status) {
                const std::lock_guard<std::mutex> lock(mutex);
                failed += status.ok() ? 0 : 1;
                if (--missing == 0)
                {
                    ended.notify_one();
                }
            });
        }
        std::unique_lock<std::mutex> lock(mutex);
        ended.wait(lock, [&] { return missing == 0; });
        lab::expect("the count of failed calls", 0, failed);
    }

    // Sends so many to a stream, until the server has received all.
    void tell(int count)
    {
        grpc::ClientContext context;
        Integer answer;
        const auto writer = stub_->Tell(&context, &answer);
        // What may wait for more is written together.
        const auto options = grpc::WriteOptions().set_buffer_hint();
        for (int i = 0; i < count; ++i)
        {
            if (!writer->Write(empty_, options))
            {
                break;
            }
        }
        writer->WritesDone();
        expectDone(writer->Finish());
        lab::expect<std::int64_t>("the count of a stream", count, answer.value());
    }

private:
    std::unique_ptr<Calls::Stub> stub_;
    const Empty empty_;
};

}

void lab::serve(const Task& task)
{
    Servant servant;
    grpc::ServerBuilder builder;
    const std::string path = "unix:" + socketPath();
    int port = 0;
    builder.AddListeningPort(
        task.isUnix ? path : "127.0.0.1:0", grpc::InsecureServerCredentials(), task.isUnix ? nullptr : &port);
    builder.RegisterService(&servant);
    builder.SetMaxReceiveMessageSize(MESSAGE_LEN_MAX);
    const auto server = builder.BuildAndStart();
    if (!server)
    {
        fail("cannot start the server");
    }
    announce(task.isUnix ? path : "127.0.0.1:" + std::to_string(port));
    waitForEnd();
    // Without waiting for calls that have a client no more.
    server->Shutdown(std::chrono::system_clock::now());
}

void lab::call(Task& task, const std::string& address)
{
    Client client(address);
    const Empty empty;
    const auto nothing = [&] { client.call(&Calls::Stub::Nothing, empty); };
    const auto counted = [&] { return client.call(&Calls::Stub::Count, empty).value(); };
    switch (task.work)
    {
    case Work::Twoway:
    case Work::TwowayBlocking:
        return task.measureCalls(1, 0, nothing, counted);
    case Work::Ami:
        return task.measureCalls(1, 0, [&] { client.callMany(1); }, counted);
    case Work::AmiMany:
        return task.measureCalls(IN_FLIGHT, 0, [&] { client.callMany(IN_FLIGHT); }, counted);
    case Work::Oneway:
    {
        // Each stream is counted when it ends.
        std::int64_t told = 0;
        const auto once = [&] {
            client.tell(task.oneways);
            told += task.oneways;
        };
        return task.measureCalls(task.oneways, 0, once, [&] { return told; });
    }
    case Work::Echo:
    {
        Doubles values;
        const auto sent = doubles(task.count);
        values.mutable_value()->Add(sent.begin(), sent.end());
        return task.measureEcho([&](auto check) {
            const auto echo = client.call(&Calls::Stub::Echo, values);
            check(echo.value_size(), [&](std::size_t index) { return echo.value(static_cast<int>(index)); });
        });
    }
    case Work::AckBytes:
    {
        Bytes payload;
        const auto sent = bytes(task.count);
        payload.set_value(sent.data(), sent.size());
        return task.measureAck([&] { return client.call(&Calls::Stub::TakeBytes, payload).value(); });
    }
    case Work::AckNested:
    {
        const auto value = records(task.count);
        return task.measureAck([&] { return client.call(&Calls::Stub::TakeRecords, value).value(); });
    }
    default:
        task.refuse();
    }
}
