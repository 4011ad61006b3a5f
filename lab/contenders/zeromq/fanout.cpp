// The scenarios `scale` and `qos` with ZeroMQ: see fanout.hpp. A proxy passes on what is published, the pattern of its guide. Each
// publisher and each subscriber is a socket; one thread reads those of all subscribers.

#define LAB_SERVICE

#include <zmq.h>

#include "fanout.hpp"

namespace
{

void check(int result)
{
    if (result < 0)
    {
        lab::die(zmq_strerror(zmq_errno()));
    }
}

void* context()
{
    static void* const context = [] {
        void* const fresh = zmq_ctx_new();
        zmq_ctx_set(fresh, ZMQ_MAX_SOCKETS, 4096);
        return fresh;
    }();
    return context;
}

void* socketOf(int kind)
{
    void* const socket = zmq_socket(context(), kind);
    const int unlimited = 0;
    check(socket == nullptr ? -1 : 0);
    check(zmq_setsockopt(socket, ZMQ_SNDHWM, &unlimited, sizeof unlimited));
    check(zmq_setsockopt(socket, ZMQ_RCVHWM, &unlimited, sizeof unlimited));
    return socket;
}

std::string boundTo(void* socket)
{
    check(zmq_bind(socket, "tcp://127.0.0.1:*"));
    char text[256];
    size_t len = sizeof text;
    check(zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, text, &len));
    return text;
}

// The sockets belong to the thread that reads them.
void readAll(const lab::Task& task, lab::Waves& waves, const std::string& address)
{
    std::vector<zmq_pollitem_t> all;
    for (std::size_t index = 0; index < task.subscribers; ++index)
    {
        void* const socket = socketOf(ZMQ_SUB);
        check(zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "", 0));
        check(zmq_connect(socket, address.c_str()));
        all.push_back({socket, 0, ZMQ_POLLIN, 0});
    }
    std::vector<std::uint8_t> event(1 << 16);
    while (true)
    {
        check(zmq_poll(all.data(), static_cast<int>(all.size()), -1));
        for (std::size_t index = 0; index < all.size(); ++index)
        {
            if ((all[index].revents & ZMQ_POLLIN) == 0)
            {
                continue;
            }
            for (int len = 0; (len = zmq_recv(all[index].socket, event.data(), event.size(), ZMQ_DONTWAIT)) >= 0;)
            {
                waves.took(index, lab::numberOf(task, event.data(), static_cast<std::size_t>(len)));
            }
        }
    }
}

}

// Where publishers connect, a space, where subscribers connect.
void lab::service()
{
    void* const in = socketOf(ZMQ_XSUB);
    void* const out = socketOf(ZMQ_XPUB);
    announceService(boundTo(in) + " " + boundTo(out));
    zmq_proxy(in, out, nullptr);
}

void lab::fanout(const Task& task, Waves& waves, const std::string& address)
{
    const auto space = address.find(' ');
    std::thread(readAll, std::cref(task), std::ref(waves), address.substr(space + 1)).detach();
    std::vector<void*> publishers;
    for (std::size_t index = 0; index < task.publishers; ++index)
    {
        void* const socket = socketOf(ZMQ_PUB);
        check(zmq_connect(socket, address.substr(0, space).c_str()));
        publishers.push_back(socket);
    }
    const auto payload = task.payload();
    waves.run([&](std::size_t publisher, std::int32_t number) {
        const auto event = message(number, payload);
        check(zmq_send(publishers[publisher], event.data(), event.size(), 0));
    });
    while (true)
    {
        pause();
    }
}
