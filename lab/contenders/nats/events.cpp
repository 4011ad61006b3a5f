// The scenario `events` with NATS and its C client: see events.hpp. A publisher awaits the server's answer to a ping behind
// each event (`natsConnection_Flush`), or behind a batch; subscribers do not acknowledge, which core NATS has not.

#include <cstring>

#include "events.hpp"

#include "connection.hpp"

lab::Publish lab::publisher(const Task& task, const std::string& address)
{
    natsConnection* const connection = connected(!task.isBatched(), address);
    return [connection](const Numbers& numbers) {
        for (const auto& number : numbers)
        {
            check(natsConnection_Publish(connection, "tick", &number, sizeof number));
        }
        check(natsConnection_Flush(connection));
    };
}

void lab::subscriber(const Task& task, Tally& tally, const std::string& address)
{
    natsConnection* const connection = connected(!task.isBatched(), address);
    natsSubscription* subscription = nullptr;
    const auto take = [](natsConnection*, natsSubscription*, natsMsg* message, void* self) {
        std::int64_t number = 0;
        std::memcpy(&number, natsMsg_GetData(message), sizeof number);
        natsMsg_Destroy(message);
        static_cast<Tally*>(self)->take(number);
    };
    check(natsConnection_Subscribe(&subscription, connection, "tick", take, &tally));
    // Unlimited.
    check(natsSubscription_SetPendingLimits(subscription, -1, -1));
    while (true)
    {
        pause();
    }
}
