// The scenario `events` with NATS, its JetStream, and its C client: see events.hpp. A stream in memory holds each event until
// every consumer has acknowledged it. A publisher awaits the stream's answer to each event; a subscriber is a consumer of its
// own, to which the server pushes, and the library acknowledges each event that has been taken.

#include <cstring>

#include "events.hpp"

#include "connection.hpp"

namespace
{

const char* const SUBJECT = "tick";

const std::chrono::seconds PATIENCE(30);

// The stream exists then, whoever made it: publishers and subscribers start together, and the server refuses all but one of
// those that ask for the same stream at the same moment.
jsCtx* jetStream(const lab::Task& task, const std::string& address)
{
    jsCtx* context = nullptr;
    lab::check(natsConnection_JetStream(&context, lab::connected(!task.isBatched(), address), nullptr));
    const char* subjects[] = {SUBJECT};
    jsStreamConfig stream;
    lab::check(jsStreamConfig_Init(&stream));
    stream.Name = "ticks";
    stream.Subjects = subjects;
    stream.SubjectsLen = 1;
    stream.Storage = js_MemoryStorage;
    stream.Retention = js_InterestPolicy;
    const auto deadline = lab::Clock::now() + PATIENCE;
    natsStatus status = js_AddStream(nullptr, context, &stream, nullptr, nullptr);
    while (status != NATS_OK && lab::Clock::now() < deadline)
    {
        std::this_thread::sleep_for(lab::PROBE_INTERVAL);
        status = js_AddStream(nullptr, context, &stream, nullptr, nullptr);
    }
    lab::check(status);
    return context;
}

}

lab::Publish lab::publisher(const Task& task, const std::string& address)
{
    jsCtx* const context = jetStream(task, address);
    return [context](const Numbers& numbers) {
        for (const auto& number : numbers)
        {
            check(js_Publish(nullptr, context, SUBJECT, &number, sizeof number, nullptr, nullptr));
        }
    };
}

void lab::subscriber(const Task& task, Tally& tally, const std::string& address)
{
    jsCtx* const context = jetStream(task, address);
    const auto take = [](natsConnection*, natsSubscription*, natsMsg* message, void* self) {
        std::int64_t number = 0;
        std::memcpy(&number, natsMsg_GetData(message), sizeof number);
        static_cast<Tally*>(self)->take(number);
        natsMsg_Destroy(message);
    };
    jsSubOptions options;
    check(jsSubOptions_Init(&options));
    options.Config.AckPolicy = js_AckExplicit;
    options.Config.DeliverPolicy = js_DeliverNew;
    options.Config.MemoryStorage = true;
    natsSubscription* subscription = nullptr;
    check(js_Subscribe(&subscription, context, SUBJECT, take, &tally, nullptr, &options, nullptr));
    while (true)
    {
        pause();
    }
}
