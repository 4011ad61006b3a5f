// ZeroMQ: REQ and REP where one call follows another; DEALER and ROUTER where many are in flight, or none is
// answered. There is no limit on what waits to be sent: with one, ZeroMQ's own default, 1,000 calls do not fit.
//
// ZeroMQ has no encoding. A message is 8 bytes that name the operation, and the values as they are in memory, records
// behind one another with a byte of their count before each sequence.

#include <zmq.h>

#include <cstring>

#include "calls.hpp"

namespace
{

enum Operation : std::uint64_t { NOTHING, TELL, COUNT, ECHO, TAKE_BYTES, TAKE_RECORDS };

void check(bool isDone, const char* action)
{
    if (!isDone)
    {
        lab::fail(std::string("cannot ") + action + ": " + zmq_strerror(zmq_errno()));
    }
}

class Message
{
public:
    Message() { zmq_msg_init(&message_); }
    explicit Message(std::size_t len) { check(zmq_msg_init_size(&message_, len) == 0, "make a message"); }
    ~Message() { zmq_msg_close(&message_); }
    Message(const Message&) = delete;
    Message& operator=(const Message&) = delete;

    char* data() { return static_cast<char*>(zmq_msg_data(&message_)); }
    std::size_t len() { return zmq_msg_size(&message_); }

    void receive(void* socket) { check(zmq_msg_recv(&message_, socket, 0) >= 0, "receive"); }
    void send(void* socket, int flags = 0) { check(zmq_msg_send(&message_, socket, flags) >= 0, "send"); }

    template<class T>
    T number(std::size_t at)
    {
        if (at + sizeof(T) > len())
        {
            lab::fail("expected a longer message");
        }
        T value;
        std::memcpy(&value, data() + at, sizeof value);
        return value;
    }

private:
    zmq_msg_t message_;
};

// Sockets and their context live as long as the process.
void* socketOf(int type)
{
    static void* context = zmq_ctx_new();
    void* socket = zmq_socket(context, type);
    check(socket != nullptr, "make a socket");
    const int unlimited = 0;
    check(zmq_setsockopt(socket, ZMQ_SNDHWM, &unlimited, sizeof unlimited) == 0, "lift a limit");
    check(zmq_setsockopt(socket, ZMQ_RCVHWM, &unlimited, sizeof unlimited) == 0, "lift a limit");
    return socket;
}

bool isSequential(lab::Work work)
{
    switch (work)
    {
    case lab::Work::Ami:
    case lab::Work::AmiMany:
    case lab::Work::Oneway:
        return false;
    default:
        return true;
    }
}

const std::size_t HEAD_LEN = sizeof(std::uint64_t);

double sumOf(Message& request)
{
    double sum = 0;
    std::size_t at = HEAD_LEN;
    while (at < request.len())
    {
        const auto count = request.number<std::uint8_t>(at);
        at += 1;
        for (int index = 0; index < count; ++index)
        {
            sum += static_cast<double>(request.number<std::int64_t>(at)) + request.number<double>(at + 8);
            at += 16;
        }
    }
    return sum;
}

template<class T>
void answer(void* socket, T value)
{
    check(zmq_send(socket, &value, sizeof value, 0) >= 0, "send");
}

// Answers one request, which comes behind the identity of its sender if the socket is a ROUTER.
void answerOne(void* socket, bool isRouter, std::int64_t& count)
{
    Message sender;
    if (isRouter)
    {
        sender.receive(socket);
    }
    Message request;
    request.receive(socket);
    const auto operation = request.number<std::uint64_t>(0);
    if (operation == TELL)
    {
        ++count;
        return;
    }
    if (isRouter)
    {
        sender.send(socket, ZMQ_SNDMORE);
    }
    switch (operation)
    {
    case NOTHING:
        ++count;
        check(zmq_send(socket, nullptr, 0, 0) >= 0, "send");
        return;
    case COUNT:
        return answer(socket, count);
    case ECHO:
        return request.send(socket);
    case TAKE_BYTES:
        return answer(socket, lab::ackOfBytes(request.data() + HEAD_LEN, request.len() - HEAD_LEN));
    case TAKE_RECORDS:
        return answer(socket, sumOf(request));
    default:
        lab::fail("expected an operation, got " + std::to_string(operation));
    }
}

// A request, of which nothing changes from call to call.
std::vector<char> requestOf(std::uint64_t operation, const void* data = nullptr, std::size_t len = 0)
{
    std::vector<char> request(HEAD_LEN + len);
    std::memcpy(request.data(), &operation, HEAD_LEN);
    if (len > 0)
    {
        std::memcpy(request.data() + HEAD_LEN, data, len);
    }
    return request;
}

struct Inner
{
    std::int64_t l;
    double d;
};

using Outer = std::vector<Inner>;

std::vector<Outer> records(std::size_t count)
{
    std::vector<Outer> value(count);
    for (std::size_t outer = 0; outer < count; ++outer)
    {
        for (std::size_t inner = 0; inner < lab::INNER_COUNT; ++inner)
        {
            value[outer].push_back({lab::integerAt(outer, inner), lab::numberAt(outer, inner)});
        }
    }
    return value;
}

void sendRecords(void* socket, const std::vector<Outer>& value)
{
    std::size_t len = HEAD_LEN;
    for (const auto& outer : value)
    {
        len += 1 + outer.size() * sizeof(Inner);
    }
    Message message(len);
    const std::uint64_t operation = TAKE_RECORDS;
    std::memcpy(message.data(), &operation, HEAD_LEN);
    char* to = message.data() + HEAD_LEN;
    for (const auto& outer : value)
    {
        *to++ = static_cast<char>(outer.size());
        for (const auto& inner : outer)
        {
            std::memcpy(to, &inner.l, 8);
            std::memcpy(to + 8, &inner.d, 8);
            to += 16;
        }
    }
    message.send(socket);
}

}

void lab::serve(const Task& task)
{
    const bool isRouter = !isSequential(task.work);
    void* socket = socketOf(isRouter ? ZMQ_ROUTER : ZMQ_REP);
    const std::string endpoint = task.isUnix ? "ipc://" + socketPath() : "tcp://127.0.0.1:*";
    check(zmq_bind(socket, endpoint.c_str()) == 0, "bind");
    char bound[256];
    std::size_t len = sizeof bound;
    check(zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, bound, &len) == 0, "tell the endpoint");
    announce(bound);
    endWithStdin();
    std::int64_t count = 0;
    for (;;)
    {
        answerOne(socket, isRouter, count);
    }
}

void lab::call(Task& task, const std::string& address)
{
    void* socket = socketOf(isSequential(task.work) ? ZMQ_REQ : ZMQ_DEALER);
    check(zmq_connect(socket, address.c_str()) == 0, "connect");
    // Lent and not copied.
    const auto send = [&](const std::vector<char>& request) {
        check(zmq_send_const(socket, request.data(), request.size(), 0) >= 0, "send");
    };
    const auto receive = [&] { Message().receive(socket); };
    const auto nothing = requestOf(NOTHING);
    const auto tell = requestOf(TELL);
    const auto count = requestOf(COUNT);
    const auto counted = [&] {
        send(count);
        Message reply;
        reply.receive(socket);
        return reply.number<std::int64_t>(0);
    };
    switch (task.work)
    {
    case Work::Twoway:
    case Work::TwowayBlocking:
    case Work::Ami:
    {
        const auto once = [&] {
            send(nothing);
            receive();
        };
        task.measureCalls(1, 0, once, counted);
        break;
    }
    case Work::AmiMany:
    {
        const auto once = [&] {
            for (int i = 0; i < IN_FLIGHT; ++i)
            {
                send(nothing);
            }
            for (int i = 0; i < IN_FLIGHT; ++i)
            {
                receive();
            }
        };
        task.measureCalls(IN_FLIGHT, 0, once, counted);
        break;
    }
    case Work::Oneway:
    {
        const auto once = [&] {
            for (int i = 0; i < task.oneways; ++i)
            {
                send(tell);
            }
            send(nothing);
            receive();
        };
        task.measureCalls(task.oneways, 1, once, counted);
        break;
    }
    case Work::Echo:
    {
        const auto values = doubles(task.count);
        const auto request = requestOf(ECHO, values.data(), values.size() * sizeof(double));
        task.measureEcho([&](auto check) {
            send(request);
            Message reply;
            reply.receive(socket);
            check((reply.len() - HEAD_LEN) / sizeof(double), [&](std::size_t index) {
                return reply.number<double>(HEAD_LEN + index * sizeof(double));
            });
        });
        break;
    }
    case Work::AckBytes:
    {
        const auto payload = bytes(task.count);
        const auto request = requestOf(TAKE_BYTES, payload.data(), payload.size());
        task.measureAck([&] {
            send(request);
            Message reply;
            reply.receive(socket);
            return reply.number<std::int64_t>(0);
        });
        break;
    }
    case Work::AckNested:
    {
        const auto value = records(task.count);
        task.measureAck([&] {
            sendRecords(socket, value);
            Message reply;
            reply.receive(socket);
            return reply.number<double>(0);
        });
        break;
    }
    default:
        task.refuse();
    }
    // Nothing is on its way; the context would only wait for its threads.
    std::cout.flush();
    std::_Exit(0);
}
