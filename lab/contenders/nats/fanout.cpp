// The scenarios `scale` and `qos` with NATS and its C client: see fanout.hpp. Each publisher and each subscriber has a connection;
// those of subscribers share the library's threads of delivery.

#include "fanout.hpp"

#include "connection.hpp"

namespace
{

struct Subscriber
{
    const lab::Task* task;
    lab::Waves* waves;
    std::size_t index;
};

void take(natsConnection*, natsSubscription*, natsMsg* message, void* self)
{
    const auto* const subscriber = static_cast<Subscriber*>(self);
    const auto len = static_cast<std::size_t>(natsMsg_GetDataLength(message));
    subscriber->waves->took(subscriber->index, lab::numberOf(*subscriber->task, natsMsg_GetData(message), len));
    natsMsg_Destroy(message);
}

}

void lab::fanout(const Task& task, Waves& waves, const std::string& address)
{
    const bool isBatched = task.quality == "batched";
    std::vector<Subscriber> subscribers(task.subscribers);
    for (std::size_t index = 0; index < task.subscribers; ++index)
    {
        subscribers[index] = {&task, &waves, index};
        natsSubscription* subscription = nullptr;
        natsConnection* const connection = connected(true, address, true);
        check(natsConnection_Subscribe(&subscription, connection, "fanout", take, &subscribers[index]));
    }
    std::vector<natsConnection*> publishers;
    for (std::size_t index = 0; index < task.publishers; ++index)
    {
        publishers.push_back(connected(!isBatched, address));
    }
    const auto payload = task.payload();
    waves.run(
        [&](std::size_t publisher, std::int32_t number) {
            const auto event = message(number, payload);
            check(natsConnection_Publish(publishers[publisher], "fanout", event.data(), static_cast<int>(event.size())));
            if (task.quality == "twoway")
            {
                check(natsConnection_Flush(publishers[publisher]));
            }
        },
        [&] {
            for (natsConnection* const publisher : publishers)
            {
                if (isBatched)
                {
                    check(natsConnection_Flush(publisher));
                }
            }
        });
    while (true)
    {
        pause();
    }
}
