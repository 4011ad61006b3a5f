// The scenarios `scale` and `qos` with mosquitto, an MQTT broker, and its library: see fanout.hpp. Each publisher and each
// subscriber is a client with a connection; one thread reads those of all subscribers.

#include <mosquitto.h>

#include <poll.h>
#include <sys/epoll.h>

#include "fanout.hpp"

namespace
{

void check(int result)
{
    if (result != MOSQ_ERR_SUCCESS)
    {
        lab::die(std::string("mosquitto: ") + mosquitto_strerror(result));
    }
}

// QoS 1 where events are acknowledged.
int qosOf(const lab::Task& task)
{
    return task.quality == "twoway" ? 1 : 0;
}

// One turn of a client's loop. The library's own waits with select, which knows no more than 1,024 sockets.
void turn(mosquitto* handle, int millis)
{
    pollfd ready{mosquitto_socket(handle), POLLIN, 0};
    if (mosquitto_want_write(handle))
    {
        ready.events |= POLLOUT;
    }
    poll(&ready, 1, millis);
    if ((ready.revents & POLLIN) != 0)
    {
        check(mosquitto_loop_read(handle, 1));
    }
    if (mosquitto_want_write(handle))
    {
        check(mosquitto_loop_write(handle, 1));
    }
    check(mosquitto_loop_misc(handle));
}

struct Client
{
    const lab::Task* task;
    lab::Waves* waves;
    std::size_t index;
    mosquitto* handle = nullptr;
    bool isSubscriber = false;
    bool isReady = false;
    int acknowledged = 0;
    int published = 0;
};

void connect(Client& client, const std::string& address)
{
    client.handle = mosquitto_new(nullptr, true, &client);
    check(mosquitto_int_option(client.handle, MOSQ_OPT_TCP_NODELAY, 1));
    // Unlimited.
    check(mosquitto_int_option(client.handle, MOSQ_OPT_SEND_MAXIMUM, 65535));
    check(mosquitto_int_option(client.handle, MOSQ_OPT_RECEIVE_MAXIMUM, 65535));
    mosquitto_connect_callback_set(client.handle, [](mosquitto* handle, void* self, int result) {
        check(result);
        auto* const own = static_cast<Client*>(self);
        own->isReady = !own->isSubscriber;
        if (own->isSubscriber)
        {
            check(mosquitto_subscribe(handle, nullptr, "fanout", qosOf(*own->task)));
        }
    });
    mosquitto_subscribe_callback_set(
        client.handle, [](mosquitto*, void* self, int, int, const int*) { static_cast<Client*>(self)->isReady = true; });
    mosquitto_publish_callback_set(
        client.handle, [](mosquitto*, void* self, int) { ++static_cast<Client*>(self)->acknowledged; });
    mosquitto_message_callback_set(client.handle, [](mosquitto*, void* self, const mosquitto_message* message) {
        const auto* const own = static_cast<Client*>(self);
        const auto len = static_cast<std::size_t>(message->payloadlen);
        own->waves->took(own->index, lab::numberOf(*own->task, message->payload, len));
    });
    check(mosquitto_connect(client.handle, "127.0.0.1", std::stoi(address), 600));
    while (!client.isReady)
    {
        turn(client.handle, 100);
    }
}

void readAll(std::vector<Client>& subscribers)
{
    const int all = epoll_create1(0);
    for (std::size_t index = 0; index < subscribers.size(); ++index)
    {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = index;
        epoll_ctl(all, EPOLL_CTL_ADD, mosquitto_socket(subscribers[index].handle), &event);
    }
    std::vector<epoll_event> ready(subscribers.size());
    while (true)
    {
        const int count = epoll_wait(all, ready.data(), static_cast<int>(ready.size()), -1);
        for (int index = 0; index < count; ++index)
        {
            mosquitto* const handle = subscribers[ready[static_cast<std::size_t>(index)].data.u64].handle;
            check(mosquitto_loop_read(handle, 1));
            if (mosquitto_want_write(handle))
            {
                check(mosquitto_loop_write(handle, 1));
            }
        }
    }
}

}

void lab::fanout(const Task& task, Waves& waves, const std::string& address)
{
    mosquitto_lib_init();
    std::vector<Client> subscribers(task.subscribers);
    for (std::size_t index = 0; index < task.subscribers; ++index)
    {
        subscribers[index] = Client{&task, &waves, index};
        subscribers[index].isSubscriber = true;
        connect(subscribers[index], address);
    }
    std::vector<Client> publishers(task.publishers);
    for (std::size_t index = 0; index < task.publishers; ++index)
    {
        publishers[index] = Client{&task, &waves, index};
        connect(publishers[index], address);
    }
    std::thread(readAll, std::ref(subscribers)).detach();
    const auto payload = task.payload();
    const bool isAcknowledged = qosOf(task) > 0;
    waves.run(
        [&](std::size_t publisher, std::int32_t number) {
            Client& client = publishers[publisher];
            const auto event = message(number, payload);
            const auto len = static_cast<int>(event.size());
            check(mosquitto_publish(client.handle, nullptr, "fanout", len, event.data(), qosOf(task), false));
            ++client.published;
            while (isAcknowledged && client.acknowledged < client.published)
            {
                turn(client.handle, 1000);
            }
        },
        [&] {
            // What did not fit into the socket waits in the library.
            for (Client& client : publishers)
            {
                while (mosquitto_want_write(client.handle))
                {
                    turn(client.handle, 1);
                }
            }
        });
    while (true)
    {
        pause();
    }
}
