// The scenario `scale` with Redis's PUBLISH and SUBSCRIBE, and hiredis: see fanout.hpp. Each publisher and each subscriber has a
// connection; one thread reads those of all subscribers, and a publisher reads the answer to each PUBLISH.

#include <hiredis/hiredis.h>

#include <sys/epoll.h>

#include "fanout.hpp"

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

redisReply* checked(redisContext* context, int result, void* reply)
{
    if (result != REDIS_OK)
    {
        lab::die(std::string("redis: ") + context->errstr);
    }
    auto* const typed = static_cast<redisReply*>(reply);
    if (typed != nullptr && typed->type == REDIS_REPLY_ERROR)
    {
        lab::die(std::string("redis: ") + typed->str);
    }
    return typed;
}

redisReply* reply(redisContext* context)
{
    void* reply = nullptr;
    const int result = redisGetReply(context, &reply);
    return checked(context, result, reply);
}

// Reads what has come on a subscriber's connection.
void drain(const lab::Task& task, lab::Waves& waves, redisContext* context, std::size_t index)
{
    checked(context, redisBufferRead(context), nullptr);
    while (true)
    {
        void* reply = nullptr;
        const int result = redisGetReplyFromReader(context, &reply);
        redisReply* const event = checked(context, result, reply);
        if (event == nullptr)
        {
            return;
        }
        // "message", the channel, what was published.
        if (event->elements != 3 || event->element[2]->type != REDIS_REPLY_STRING)
        {
            lab::die("expected an event from redis, got something else");
        }
        waves.took(index, lab::numberOf(task, event->element[2]->str, event->element[2]->len));
        freeReplyObject(event);
    }
}

void readAll(const lab::Task& task, lab::Waves& waves, const std::vector<redisContext*>& subscribers)
{
    const int all = epoll_create1(0);
    for (std::size_t index = 0; index < subscribers.size(); ++index)
    {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = index;
        epoll_ctl(all, EPOLL_CTL_ADD, subscribers[index]->fd, &event);
    }
    std::vector<epoll_event> ready(subscribers.size());
    while (true)
    {
        const int count = epoll_wait(all, ready.data(), static_cast<int>(ready.size()), -1);
        for (int index = 0; index < count; ++index)
        {
            const auto subscriber = static_cast<std::size_t>(ready[static_cast<std::size_t>(index)].data.u64);
            drain(task, waves, subscribers[subscriber], subscriber);
        }
    }
}

}

void lab::fanout(const Task& task, Waves& waves, const std::string& address)
{
    std::vector<redisContext*> subscribers;
    for (std::size_t index = 0; index < task.subscribers; ++index)
    {
        redisContext* const context = connected(address);
        redisAppendCommand(context, "SUBSCRIBE fanout");
        freeReplyObject(reply(context));
        subscribers.push_back(context);
    }
    std::vector<redisContext*> publishers;
    for (std::size_t index = 0; index < task.publishers; ++index)
    {
        publishers.push_back(connected(address));
    }
    std::thread(readAll, std::cref(task), std::ref(waves), std::cref(subscribers)).detach();
    const auto payload = task.payload();
    // Answers to a burst are read together.
    std::vector<redisContext*> unanswered;
    waves.run(
        [&](std::size_t publisher, std::int32_t number) {
            const auto event = message(number, payload);
            const char* words[] = {"PUBLISH", "fanout", reinterpret_cast<const char*>(event.data())};
            const size_t lens[] = {7, 6, event.size()};
            redisAppendCommandArgv(publishers[publisher], 3, words, lens);
            int isWritten = 0;
            checked(publishers[publisher], redisBufferWrite(publishers[publisher], &isWritten), nullptr);
            unanswered.push_back(publishers[publisher]);
        },
        [&] {
            for (redisContext* const publisher : unanswered)
            {
                freeReplyObject(reply(publisher));
            }
            unanswered.clear();
        });
    while (true)
    {
        pause();
    }
}
