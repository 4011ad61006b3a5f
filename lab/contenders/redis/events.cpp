// The scenario `events` with Redis's PUBLISH and SUBSCRIBE, and hiredis: see events.hpp. A publisher awaits the number of
// subscribers that is the answer of each PUBLISH; batches are pipelined, and their answers awaited together. Subscribers
// do not acknowledge: Redis has no such thing.

#include <hiredis/hiredis.h>

#include <cstring>

#include "events.hpp"

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

}

lab::Publish lab::publisher(const Task&, const std::string& address)
{
    redisContext* const context = connected(address);
    return [context](const Numbers& numbers) {
        for (const auto& number : numbers)
        {
            const char* words[] = {"PUBLISH", "tick", reinterpret_cast<const char*>(&number)};
            const size_t lens[] = {7, 4, sizeof number};
            redisAppendCommandArgv(context, 3, words, lens);
        }
        for (size_t count = numbers.size(); count > 0; --count)
        {
            freeReplyObject(reply(context));
        }
    };
}

void lab::subscriber(const Task&, Tally& tally, const std::string& address)
{
    redisContext* const context = connected(address);
    redisAppendCommand(context, "SUBSCRIBE tick");
    freeReplyObject(reply(context));
    while (true)
    {
        redisReply* const message = reply(context);
        // "message", the channel, the event.
        if (message->elements != 3 || message->element[2]->len != sizeof(std::int64_t))
        {
            die("expected an event from redis, got something else");
        }
        std::int64_t number = 0;
        std::memcpy(&number, message->element[2]->str, sizeof number);
        freeReplyObject(message);
        tally.take(number);
    }
}
