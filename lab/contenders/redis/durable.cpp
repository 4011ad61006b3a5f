// The scenario `durable` with a stream of Redis and hiredis: see durable.hpp. Each XADD is answered with the identifier of its
// entry, and Redis writes and syncs its file before it sends the answers. Several commands are pipelined on one connection.

#include <hiredis/hiredis.h>

#include "durable.hpp"

namespace
{

void store(redisContext* context)
{
    static const std::string payload(lab::PAYLOAD_LEN, '\7');
    const char* words[] = {"XADD", "journal", "*", "store", payload.data()};
    const size_t lens[] = {4, 7, 1, 5, payload.size()};
    redisAppendCommandArgv(context, 5, words, lens);
}

void await(redisContext* context)
{
    void* reply = nullptr;
    if (redisGetReply(context, &reply) != REDIS_OK)
    {
        lab::fail(std::string("redis: ") + context->errstr);
    }
    const auto* const typed = static_cast<redisReply*>(reply);
    if (typed->type != REDIS_REPLY_STRING)
    {
        lab::fail(std::string("expected the identifier of an entry from redis, got ") + typed->str);
    }
    freeReplyObject(reply);
}

}

lab::PublishUntil lab::publisher(const Task& task, const std::string& address)
{
    redisContext* const context = redisConnect("127.0.0.1", std::stoi(address));
    if (context == nullptr || context->err != 0)
    {
        fail(std::string("cannot connect to redis: ") + (context == nullptr ? "no memory" : context->errstr));
    }
    return [context, task](Clock::time_point until) {
        std::uint64_t published = 0;
        int unanswered = 0;
        bool isOver = false;
        while (!isOver)
        {
            for (; unanswered < task.unanswered; ++unanswered, ++published)
            {
                store(context);
            }
            // In a batch all of them; else one, and another command takes its place.
            for (int least = task.isBatched ? 0 : task.unanswered - 1; unanswered > least; --unanswered)
            {
                await(context);
            }
            isOver = Clock::now() >= until;
        }
        for (; unanswered > 0; --unanswered)
        {
            await(context);
        }
        return published;
    };
}
