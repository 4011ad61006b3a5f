// The scenario `pubsub-rtt` with ZeroMQ: see topics.hpp. A proxy passes on what is published, the pattern of its guide; the
// first frame of a message is its topic.

#define LAB_SERVICE

#include <zmq.h>

#include "topics.hpp"

namespace
{

void check(int result)
{
    if (result < 0)
    {
        lab::fail(zmq_strerror(zmq_errno()));
    }
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

// Lives as long as the process.
void* publisher(const std::string& address)
{
    void* const socket = zmq_socket(context(), ZMQ_PUB);
    check(zmq_connect(socket, address.substr(0, address.find(' ')).c_str()));
    return socket;
}

void* subscriber(const std::string& address, const std::string& topic)
{
    void* const socket = zmq_socket(context(), ZMQ_SUB);
    check(zmq_setsockopt(socket, ZMQ_SUBSCRIBE, topic.data(), topic.size()));
    check(zmq_connect(socket, address.substr(address.find(' ') + 1).c_str()));
    return socket;
}

void publish(void* socket, const std::string& topic, const std::vector<std::uint8_t>& message)
{
    check(zmq_send(socket, topic.data(), topic.size(), ZMQ_SNDMORE));
    check(zmq_send(socket, message.data(), message.size(), 0));
}

// The next message of the topic; false if there is none within so many milliseconds.
bool next(void* socket, std::vector<std::uint8_t>& message, int millis)
{
    zmq_pollitem_t item = {socket, 0, ZMQ_POLLIN, 0};
    check(zmq_poll(&item, 1, millis));
    if ((item.revents & ZMQ_POLLIN) == 0)
    {
        return false;
    }
    char topic[16];
    check(zmq_recv(socket, topic, sizeof topic, 0));
    message.resize(1 << 20);
    const int len = zmq_recv(socket, message.data(), message.size(), 0);
    check(len);
    message.resize(static_cast<std::size_t>(len));
    return true;
}

}

// Where publishers connect, a space, where subscribers connect.
void lab::service()
{
    void* const in = zmq_socket(context(), ZMQ_XSUB);
    void* const out = zmq_socket(context(), ZMQ_XPUB);
    announceService(boundTo(in) + " " + boundTo(out));
    zmq_proxy(in, out, nullptr);
}

void lab::ping(const Task& task, const std::string& address)
{
    void* const messages = publisher(address);
    void* const acks = subscriber(address, "ack");
    const auto payload = task.bytes();
    Pinger pinger([&](std::int32_t number) { publish(messages, "ping", message(number, payload)); });
    std::vector<std::uint8_t> ack;
    while (true)
    {
        if (!pinger.isOpen())
        {
            publish(messages, "ping", message(PROBE, payload));
        }
        if (next(acks, ack, pinger.isOpen() ? -1 : 5))
        {
            pinger.answered(numberOf(ack.data(), ack.size(), {}));
        }
    }
}

void lab::reply(const Task& task, const std::string& address)
{
    void* const messages = subscriber(address, "ping");
    void* const acks = publisher(address);
    const auto payload = task.bytes();
    std::vector<std::uint8_t> message;
    while (true)
    {
        if (next(messages, message, -1))
        {
            publish(acks, "ack", lab::message(numberOf(message.data(), message.size(), payload), {}));
        }
    }
}
