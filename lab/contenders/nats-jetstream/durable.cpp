// The scenario `durable` with NATS, its JetStream, and its C client: see durable.hpp. The stream is in files, and the server syncs
// each event before it answers. One event at a time is published and its answer awaited; more are published asynchronously,
// with as many without an answer as the case says.

#include <nats/nats.h>

#include "durable.hpp"

namespace
{

const char* const SUBJECT = "journal";

void check(natsStatus status)
{
    if (status != NATS_OK)
    {
        lab::fail(std::string("nats: ") + natsStatus_GetText(status));
    }
}

void refused(jsCtx*, jsPubAckErr* error, void*)
{
    std::cerr << "nats: an event is not stored: " << error->ErrText << std::endl;
    _exit(1);
}

// The stream exists then.
jsCtx* jetStream(const lab::Task& task, const std::string& address)
{
    natsConnection* connection = nullptr;
    check(natsConnection_ConnectTo(&connection, ("nats://127.0.0.1:" + address).c_str()));
    jsOptions options;
    check(jsOptions_Init(&options));
    options.PublishAsync.MaxPending = task.unanswered;
    // Waiting for room is no failure.
    options.PublishAsync.StallWait = 60000;
    options.PublishAsync.ErrHandler = refused;
    jsCtx* context = nullptr;
    check(natsConnection_JetStream(&context, connection, &options));
    const char* subjects[] = {SUBJECT};
    jsStreamConfig stream;
    check(jsStreamConfig_Init(&stream));
    stream.Name = "journal";
    stream.Subjects = subjects;
    stream.SubjectsLen = 1;
    stream.Storage = js_FileStorage;
    check(js_AddStream(nullptr, context, &stream, nullptr, nullptr));
    return context;
}

}

lab::PublishUntil lab::publisher(const Task& task, const std::string& address)
{
    jsCtx* const context = jetStream(task, address);
    return [context, task](Clock::time_point until) {
        static const std::string payload(PAYLOAD_LEN, '\7');
        const int len = static_cast<int>(payload.size());
        std::uint64_t published = 0;
        do
        {
            if (task.unanswered == 1)
            {
                check(js_Publish(nullptr, context, SUBJECT, payload.data(), len, nullptr, nullptr));
                ++published;
                continue;
            }
            for (int count = 0; count < task.unanswered; ++count, ++published)
            {
                check(js_PublishAsync(context, SUBJECT, payload.data(), len, nullptr));
            }
            if (task.isBatched)
            {
                check(js_PublishAsyncComplete(context, nullptr));
            }
        } while (Clock::now() < until);
        if (task.unanswered > 1)
        {
            check(js_PublishAsyncComplete(context, nullptr));
        }
        return published;
    };
}
