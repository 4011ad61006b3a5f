// The scenario `pubsub-rtt` with NATS and its C client: see topics.hpp.

#include "topics.hpp"

#include "connection.hpp"

namespace
{

void publish(natsConnection* connection, const char* topic, const std::vector<std::uint8_t>& message)
{
    lab::check(natsConnection_Publish(connection, topic, message.data(), static_cast<int>(message.size())));
}

using Take = std::function<void(const void*, std::size_t)>;

// Takes each message of a topic, in a thread of the library; `take` lives as long as the process.
void subscribe(natsConnection* connection, const char* topic, Take& take)
{
    natsSubscription* subscription = nullptr;
    const auto heard = [](natsConnection*, natsSubscription*, natsMsg* message, void* self) {
        const auto len = static_cast<std::size_t>(natsMsg_GetDataLength(message));
        (*static_cast<Take*>(self))(natsMsg_GetData(message), len);
        natsMsg_Destroy(message);
    };
    lab::check(natsConnection_Subscribe(&subscription, connection, topic, heard, &take));
}

}

void lab::ping(const Task& task, const std::string& address)
{
    natsConnection* const connection = connected(true, address);
    const auto payload = task.bytes();
    Pinger pinger([&](std::int32_t number) { publish(connection, "ping", message(number, payload)); });
    Take take = [&](const void* data, std::size_t len) { pinger.answered(numberOf(data, len, {})); };
    subscribe(connection, "ack", take);
    pinger.probe();
    while (true)
    {
        pause();
    }
}

void lab::reply(const Task& task, const std::string& address)
{
    natsConnection* const connection = connected(true, address);
    const auto payload = task.bytes();
    Take take = [&](const void* data, std::size_t len) {
        publish(connection, "ack", message(numberOf(data, len, payload), {}));
    };
    subscribe(connection, "ping", take);
    while (true)
    {
        pause();
    }
}
