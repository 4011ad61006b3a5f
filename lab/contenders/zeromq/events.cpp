// The scenario `events` with ZeroMQ: see events.hpp. Publishers connect to an XSUB, subscribers to an XPUB, and a proxy
// passes on what comes: the pattern of its guide. Nothing is acknowledged, and no queue has a limit, so that none drops.

#define LAB_SERVICE

#include <zmq.h>

#include <cstring>
#include <memory>

#include "events.hpp"

namespace
{

void check(int result)
{
    if (result < 0)
    {
        lab::fail(zmq_strerror(zmq_errno()));
    }
}

// Lives as long as the process.
void* socketOf(void* context, int type)
{
    void* socket = zmq_socket(context, type);
    const int unlimited = 0;
    check(zmq_setsockopt(socket, ZMQ_SNDHWM, &unlimited, sizeof unlimited));
    check(zmq_setsockopt(socket, ZMQ_RCVHWM, &unlimited, sizeof unlimited));
    return socket;
}

void* context()
{
    static void* const context = zmq_ctx_new();
    return context;
}

std::string boundTo(void* socket)
{
    check(zmq_bind(socket, "tcp://127.0.0.1:*"));
    char text[256];
    size_t len = sizeof text;
    check(zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, text, &len));
    return text;
}

}

// Where publishers connect, a space, where subscribers connect.
void lab::service(const Task&)
{
    void* const in = socketOf(context(), ZMQ_XSUB);
    void* const out = socketOf(context(), ZMQ_XPUB);
    const std::string address = boundTo(in) + " " + boundTo(out);
    announceService(address);
    zmq_proxy(in, out, nullptr);
}

lab::Publish lab::publisher(const Task&, const std::string& address)
{
    void* const socket = socketOf(context(), ZMQ_PUB);
    check(zmq_connect(socket, address.substr(0, address.find(' ')).c_str()));
    return [socket](const Numbers& numbers) {
        for (const auto number : numbers)
        {
            check(zmq_send(socket, &number, sizeof number, 0));
        }
    };
}

void lab::subscriber(const Task&, Tally& tally, const std::string& address)
{
    void* const socket = socketOf(context(), ZMQ_SUB);
    check(zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "", 0));
    check(zmq_connect(socket, address.substr(address.find(' ') + 1).c_str()));
    while (true)
    {
        std::int64_t number = 0;
        check(zmq_recv(socket, &number, sizeof number, 0));
        tally.take(number);
    }
}
