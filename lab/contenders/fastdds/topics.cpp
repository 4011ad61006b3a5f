// The scenario `pubsub-rtt` with Fast DDS: see topics.hpp. There is no service: a writer sends each sample to each reader itself.
// Readers listen in the thread that receives, which writes the answer.

#include "topics.hpp"

#include "domain.hpp"
#include "topicsPubSubTypes.h"

namespace
{

FloeTopics::OuterSeq records(std::size_t count)
{
    FloeTopics::OuterSeq outers(count);
    std::size_t index = 0;
    for (auto& outer : outers)
    {
        for (std::size_t inner = 0; inner < lab::INNER_COUNT; ++inner, ++index)
        {
            FloeTopics::Inner value;
            value.l(static_cast<std::int64_t>(index));
            value.d(static_cast<double>(index) * 0.25);
            outer.inner().push_back(value);
        }
    }
    return outers;
}

[[noreturn]] void rest()
{
    while (true)
    {
        pause();
    }
}

void write(lab::dds::DataWriter* writer, void* sample)
{
    if (!writer->write(sample))
    {
        lab::die("cannot write");
    }
}

}

void lab::ping(const Task& task, const std::string& address)
{
    Domain domain;
    dds::DataWriter* writer = domain.writer(
        task.isNested ? domain.topic<FloeTopics::PingRecordsPubSubType>(address, "ping")
                      : domain.topic<FloeTopics::PingBytesPubSubType>(address, "ping"));
    FloeTopics::PingBytes bytes;
    FloeTopics::PingRecords nested;
    if (task.isNested)
    {
        nested.records(records(task.count));
    }
    else
    {
        bytes.payload(task.bytes());
    }
    Pinger pinger([&](std::int32_t number) {
        if (task.isNested)
        {
            nested.number(number);
            write(writer, &nested);
            return;
        }
        bytes.number(number);
        write(writer, &bytes);
    });
    Listener<FloeTopics::Ack> acks([&](const FloeTopics::Ack& ack) { pinger.answered(ack.number()); });
    domain.read(domain.topic<FloeTopics::AckPubSubType>(address, "ack"), &acks);
    pinger.probe();
    rest();
}

void lab::reply(const Task& task, const std::string& address)
{
    Domain domain;
    dds::DataWriter* writer = domain.writer(domain.topic<FloeTopics::AckPubSubType>(address, "ack"));
    FloeTopics::Ack ack;
    const auto answer = [&](std::int32_t number, bool isRight) {
        if (!isRight)
        {
            die("expected the message of the case, got another");
        }
        ack.number(number);
        write(writer, &ack);
    };
    if (task.isNested)
    {
        const auto expected = records(task.count);
        bool isChecked = false;
        Listener<FloeTopics::PingRecords> pings([&](const FloeTopics::PingRecords& ping) {
            // As the other contenders: all of the first message, and of the others the length.
            const bool isRight = ping.records().size() == task.count && (isChecked || ping.records() == expected);
            isChecked = true;
            answer(ping.number(), isRight);
        });
        domain.read(domain.topic<FloeTopics::PingRecordsPubSubType>(address, "ping"), &pings);
        rest();
    }
    const auto expected = task.bytes();
    Listener<FloeTopics::PingBytes> pings(
        [&](const FloeTopics::PingBytes& ping) { answer(ping.number(), ping.payload() == expected); });
    domain.read(domain.topic<FloeTopics::PingBytesPubSubType>(address, "ping"), &pings);
    rest();
}
