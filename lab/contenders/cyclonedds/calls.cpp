// Cyclone DDS: a topic of requests and a topic of replies, reliable, over UDP on the loopback interface, in messages
// as large as UDP has them. A client waits in a waitset.
//
// A server answers in a listener, which the receiving thread calls, as that is one thread less to wake. Only an echo
// gets a thread of its own: a long reply may have to wait for an acknowledgement that the receiving thread has to read.
//
// Topics have the server's process in their names, so that no two runs meet.

#include <functional>

#include "calls.h"
#include "calls.hpp"
#include "codec.h"
#include "domain.hpp"

namespace
{

enum Operation : std::uint8_t { NOTHING, TELL, COUNT };

// What idlc makes of a type.
template<class T>
const dds_topic_descriptor_t* descriptorOf();
template<>
const dds_topic_descriptor_t* descriptorOf<FloeCalls_Signal>() { return &FloeCalls_Signal_desc; }
template<>
const dds_topic_descriptor_t* descriptorOf<FloeCalls_Answer>() { return &FloeCalls_Answer_desc; }
template<>
const dds_topic_descriptor_t* descriptorOf<FloeLab_DoublesSample>() { return &FloeLab_DoublesSample_desc; }
template<>
const dds_topic_descriptor_t* descriptorOf<FloeLab_BytesSample>() { return &FloeLab_BytesSample_desc; }
template<>
const dds_topic_descriptor_t* descriptorOf<FloeLab_NestedSample>() { return &FloeLab_NestedSample_desc; }

// A writer and a reader of the topics of a run; they live as long as the process.
template<class Out, class In>
class Ends
{
public:
    Ends(const std::string& out, const std::string& in)
    {
        participant_ = lab::joined();
        dds_qos_t* qos = lab::reliable();
        const auto outTopic = dds_create_topic(participant_, descriptorOf<Out>(), out.c_str(), qos, nullptr);
        const auto inTopic = dds_create_topic(participant_, descriptorOf<In>(), in.c_str(), qos, nullptr);
        lab::check(outTopic, "create a topic");
        lab::check(inTopic, "create a topic");
        writer_ = lab::check(dds_create_writer(participant_, outTopic, qos, nullptr), "create a writer");
        reader_ = lab::check(dds_create_reader(participant_, inTopic, qos, nullptr), "create a reader");
        dds_delete_qos(qos);
        waitset_ = lab::check(dds_create_waitset(participant_), "create a waitset");
        const auto condition = dds_create_readcondition(reader_, DDS_ANY_STATE);
        lab::check(dds_waitset_attach(waitset_, condition, 0), "attach to a waitset");
    }

    void write(const Out& sample) { lab::check(dds_write(writer_, &sample), "write"); }

    // Whether something comes in this time.
    bool wait(dds_duration_t limit)
    {
        return lab::check(dds_waitset_wait(waitset_, nullptr, 0, limit), "wait") > 0;
    }

    // Shows what is there: how many.
    template<class Take>
    int take(Take show)
    {
        void* samples[64] = {nullptr};
        dds_sample_info_t infos[64];
        const int count = lab::check(dds_take(reader_, samples, infos, 64, 64), "take");
        int shown = 0;
        for (int index = 0; index < count; ++index)
        {
            if (infos[index].valid_data)
            {
                ++shown;
                show(*static_cast<const In*>(samples[index]));
            }
        }
        if (count > 0)
        {
            lab::check(dds_return_loan(reader_, samples, count), "return a loan");
        }
        return shown;
    }

    // Waits for so many.
    template<class Take>
    void await(int count, Take show)
    {
        while (count > 0)
        {
            wait(DDS_INFINITY);
            count -= take(show);
        }
    }

    // Calls this whenever something comes, in the thread that receives, and not for what is there by now.
    void listen(std::function<void()> handle)
    {
        handle_ = std::move(handle);
        dds_listener_t* listener = dds_create_listener(this);
        dds_lset_data_available(
            listener, [](dds_entity_t, void* self) { static_cast<Ends*>(self)->handle_(); });
        lab::check(dds_set_listener(reader_, listener), "listen");
        dds_delete_listener(listener);
    }

private:
    dds_entity_t participant_;
    dds_entity_t writer_;
    dds_entity_t reader_;
    dds_entity_t waitset_;
    std::function<void()> handle_;
};

double sumOf(const FloeLab_OuterSeq& records)
{
    double sum = 0;
    for (std::uint32_t outer = 0; outer < records._length; ++outer)
    {
        const auto& inner = records._buffer[outer].inner;
        for (std::uint32_t index = 0; index < inner._length; ++index)
        {
            sum += static_cast<double>(inner._buffer[index].l) + inner._buffer[index].d;
        }
    }
    return sum;
}

const std::string REQUESTS = "_requests";
const std::string REPLIES = "_replies";

// Answers each request with what `answer` makes of it, in a listener.
template<class Request, class Answer>
void answerAll(const std::string& name, Answer answer)
{
    Ends<FloeCalls_Answer, Request> ends(name + REPLIES, name + REQUESTS);
    ends.listen([&] {
        ends.take([&](const Request& request) { answer(ends, request); });
    });
    lab::announce(name);
    lab::waitForEnd();
    dds_delete(DDS_CYCLONEDDS_HANDLE);
}

void echoAll(const std::string& name)
{
    Ends<FloeLab_DoublesSample, FloeLab_DoublesSample> ends(name + REPLIES, name + REQUESTS);
    lab::announce(name);
    lab::endWithStdin();
    for (;;)
    {
        ends.await(1, [&](const FloeLab_DoublesSample& sample) { ends.write(sample); });
    }
}

// A client's ends of a server that has noticed them: it answers a request, which is sent until then.
template<class Request, class Reply>
class Client : public Ends<Request, Reply>
{
public:
    Client(const std::string& name, const Request& probe) :
        Ends<Request, Reply>(name + REQUESTS, name + REPLIES)
    {
        do
        {
            this->write(probe);
        } while (!this->wait(DDS_MSECS(100)));
        // There may be several answers.
        while (this->wait(DDS_MSECS(50)))
        {
            this->take([](const Reply&) {});
        }
    }

    template<class Take>
    void call(const Request& request, Take show)
    {
        this->write(request);
        this->await(1, show);
    }
};

void callSignals(lab::Task& task, const std::string& name)
{
    Client<FloeCalls_Signal, FloeCalls_Answer> client(name, {COUNT});
    const auto ignore = [](const FloeCalls_Answer&) {};
    const auto counted = [&] {
        std::int64_t count = 0;
        client.call({COUNT}, [&](const FloeCalls_Answer& answer) { count = answer.integer; });
        return count;
    };
    switch (task.work)
    {
    case lab::Work::AmiMany:
    {
        const auto once = [&] {
            for (int i = 0; i < lab::IN_FLIGHT; ++i)
            {
                client.write({NOTHING});
            }
            client.await(lab::IN_FLIGHT, ignore);
        };
        return task.measureCalls(lab::IN_FLIGHT, 0, once, counted);
    }
    case lab::Work::Oneway:
    {
        const auto once = [&] {
            for (int i = 0; i < task.oneways; ++i)
            {
                client.write({TELL});
            }
            client.call({NOTHING}, ignore);
        };
        return task.measureCalls(task.oneways, 1, once, counted);
    }
    default:
        return task.measureCalls(1, 0, [&] { client.call({NOTHING}, ignore); }, counted);
    }
}

template<class Sequence, class T>
Sequence lent(std::vector<T>& values)
{
    Sequence sequence{};
    sequence._maximum = sequence._length = static_cast<std::uint32_t>(values.size());
    sequence._buffer = values.data();
    return sequence;
}

void callEcho(lab::Task& task, const std::string& name)
{
    auto values = lab::doubles(task.count);
    const FloeLab_DoublesSample sent{lent<FloeLab_Doubles>(values)};
    Client<FloeLab_DoublesSample, FloeLab_DoublesSample> client(name, {});
    task.measureEcho([&](auto check) {
        client.call(sent, [&](const FloeLab_DoublesSample& echo) {
            check(echo.value._length, [&](std::size_t index) { return echo.value._buffer[index]; });
        });
    });
}

void callBytes(lab::Task& task, const std::string& name)
{
    auto values = lab::bytes(task.count);
    const FloeLab_BytesSample sent{lent<FloeLab_Bytes>(values)};
    Client<FloeLab_BytesSample, FloeCalls_Answer> client(name, {});
    task.measureAck([&] {
        std::int64_t ack = 0;
        client.call(sent, [&](const FloeCalls_Answer& answer) { ack = answer.integer; });
        return ack;
    });
}

void callNested(lab::Task& task, const std::string& name)
{
    std::vector<FloeLab_Inner> inner;
    for (std::size_t index = 0; index < task.count * lab::INNER_COUNT; ++index)
    {
        inner.push_back({lab::integerAt(0, index), lab::numberAt(0, index)});
    }
    std::vector<FloeLab_Outer> outer(task.count);
    for (std::size_t index = 0; index < task.count; ++index)
    {
        auto& sequence = outer[index].inner;
        sequence._maximum = sequence._length = lab::INNER_COUNT;
        sequence._buffer = &inner[index * lab::INNER_COUNT];
    }
    const FloeLab_NestedSample sent{lent<FloeLab_OuterSeq>(outer)};
    Client<FloeLab_NestedSample, FloeCalls_Answer> client(name, {});
    task.measureAck([&] {
        double ack = 0;
        client.call(sent, [&](const FloeCalls_Answer& answer) { ack = answer.number; });
        return ack;
    });
}

}

void lab::serve(const Task& task)
{
    const std::string name = "floe_lab_" + std::to_string(getpid());
    // The receiving thread is one.
    std::int64_t count = 0;
    switch (task.work)
    {
    case Work::Echo:
        return echoAll(name);
    case Work::AckBytes:
        return answerAll<FloeLab_BytesSample>(name, [](auto& ends, const FloeLab_BytesSample& sample) {
            ends.write({ackOfBytes(sample.value._buffer, sample.value._length), 0});
        });
    case Work::AckNested:
        return answerAll<FloeLab_NestedSample>(name, [](auto& ends, const FloeLab_NestedSample& sample) {
            ends.write({0, sumOf(sample.value)});
        });
    default:
        return answerAll<FloeCalls_Signal>(name, [&](auto& ends, const FloeCalls_Signal& signal) {
            count += signal.operation != COUNT ? 1 : 0;
            if (signal.operation != TELL)
            {
                ends.write({count, 0});
            }
        });
    }
}

void lab::call(Task& task, const std::string& address)
{
    switch (task.work)
    {
    case Work::Twoway:
    case Work::TwowayBlocking:
    case Work::AmiMany:
    case Work::Oneway:
        return callSignals(task, address);
    case Work::Echo:
        return callEcho(task, address);
    case Work::AckBytes:
        return callBytes(task, address);
    case Work::AckNested:
        return callNested(task, address);
    default:
        task.refuse();
    }
}
