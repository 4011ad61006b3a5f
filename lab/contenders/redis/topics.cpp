// The scenario `pubsub-rtt` with Redis's PUBLISH and SUBSCRIBE, and hiredis: see topics.hpp. A publisher reads the answer to
// each PUBLISH, which tells how many subscribers there were.

#include <hiredis/hiredis.h>

#include "topics.hpp"

namespace
{

redisContext* connected(const std::string& address)
{
    redisContext* const context = redisConnect("127.0.0.1", std::stoi(address));
    if (context == nullptr || context->err != 0)
    {
        lab::fail(std::string("cannot connect to redis: ") + (context == nullptr ? "no memory" : context->errstr));
    }
    return context;
}

redisReply* reply(redisContext* context)
{
    void* reply = nullptr;
    if (redisGetReply(context, &reply) != REDIS_OK)
    {
        lab::die(std::string("redis: ") + context->errstr);
    }
    auto* const typed = static_cast<redisReply*>(reply);
    if (typed->type == REDIS_REPLY_ERROR)
    {
        lab::die(std::string("redis: ") + typed->str);
    }
    return typed;
}

// One connection; the thread that probes and the one that gets answers may both publish.
class Publisher
{
public:
    Publisher(const std::string& address, std::string topic) : context_(connected(address)), topic_(std::move(topic)) {}

    void publish(const std::vector<std::uint8_t>& message)
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        const char* words[] = {"PUBLISH", topic_.data(), reinterpret_cast<const char*>(message.data())};
        const size_t lens[] = {7, topic_.size(), message.size()};
        redisAppendCommandArgv(context_, 3, words, lens);
        freeReplyObject(reply(context_));
    }

private:
    redisContext* const context_;
    const std::string topic_;
    std::mutex mutex_;
};

// Takes each message of a topic, for as long as the process lives.
template<class Take>
void subscribe(const std::string& address, const std::string& topic, Take take)
{
    redisContext* const context = connected(address);
    redisAppendCommand(context, "SUBSCRIBE %s", topic.c_str());
    freeReplyObject(reply(context));
    while (true)
    {
        redisReply* const message = reply(context);
        // "message", the channel, what was published.
        if (message->elements != 3 || message->element[2]->type != REDIS_REPLY_STRING)
        {
            lab::die("expected a message from redis, got something else");
        }
        take(message->element[2]->str, message->element[2]->len);
        freeReplyObject(message);
    }
}

}

void lab::ping(const Task& task, const std::string& address)
{
    Publisher messages(address, "ping");
    const auto payload = task.bytes();
    Pinger pinger([&](std::int32_t number) { messages.publish(message(number, payload)); });
    std::thread probing([&] { pinger.probe(); });
    subscribe(address, "ack", [&](const void* data, std::size_t len) { pinger.answered(numberOf(data, len, {})); });
}

void lab::reply(const Task& task, const std::string& address)
{
    Publisher acks(address, "ack");
    const auto payload = task.bytes();
    subscribe(address, "ping", [&](const void* data, std::size_t len) {
        acks.publish(message(numberOf(data, len, payload), {}));
    });
}
