// The scenario `pubsub-rtt` with Cyclone DDS: see topics.hpp. There is no service: a writer sends each sample to each reader
// itself. Readers listen in the thread that receives, which writes the answer. The topics have the run's name, so that no two
// runs meet.

#include "topics.hpp"

#include "domain.hpp"
#include "topics.h"

namespace
{

dds_entity_t topicOf(dds_entity_t participant, const std::string& address, const char* name,
                     const dds_topic_descriptor_t& type)
{
    std::string full = address + "_" + name;
    for (char& letter : full)
    {
        letter = letter == '-' ? '_' : letter;
    }
    dds_qos_t* qos = lab::reliable();
    const auto topic = dds_create_topic(participant, &type, full.c_str(), qos, nullptr);
    dds_delete_qos(qos);
    return lab::check(topic, "create a topic");
}

dds_entity_t writerOf(dds_entity_t participant, dds_entity_t topic)
{
    dds_qos_t* qos = lab::reliable();
    const auto writer = dds_create_writer(participant, topic, qos, nullptr);
    dds_delete_qos(qos);
    return lab::check(writer, "create a writer");
}

// Takes samples of one type in the thread that receives; lives as long as the process.
template<class T>
class Reader
{
public:
    Reader(dds_entity_t participant, dds_entity_t topic, std::function<void(const T&)> take) : take_(std::move(take))
    {
        dds_qos_t* qos = lab::reliable();
        dds_listener_t* listener = dds_create_listener(this);
        dds_lset_data_available(listener, [](dds_entity_t reader, void* self) { static_cast<Reader*>(self)->drain(reader); });
        lab::check(dds_create_reader(participant, topic, qos, listener), "create a reader");
        dds_delete_listener(listener);
        dds_delete_qos(qos);
    }

private:
    void drain(dds_entity_t reader)
    {
        while (true)
        {
            void* sample = nullptr;
            dds_sample_info_t info;
            const int count = lab::check(dds_take(reader, &sample, &info, 1, 1), "take");
            if (count == 0)
            {
                return;
            }
            if (info.valid_data)
            {
                take_(*static_cast<const T*>(sample));
            }
            lab::check(dds_return_loan(reader, &sample, count), "return a loan");
        }
    }

    const std::function<void(const T&)> take_;
};

// Sequences whose elements are the program's.
struct Records
{
    explicit Records(std::size_t count) : inners(count * lab::INNER_COUNT), outers(count)
    {
        for (std::size_t index = 0; index < inners.size(); ++index)
        {
            inners[index] = {static_cast<std::int64_t>(index), static_cast<double>(index) * 0.25};
        }
        for (std::size_t index = 0; index < count; ++index)
        {
            auto& sequence = outers[index].inner;
            sequence._maximum = sequence._length = lab::INNER_COUNT;
            sequence._buffer = &inners[index * lab::INNER_COUNT];
            sequence._release = false;
        }
    }

    bool isSame(const FloeTopics_OuterSeq& other) const
    {
        bool isSame = other._length == outers.size();
        for (std::size_t outer = 0; isSame && outer < outers.size(); ++outer)
        {
            const auto& came = other._buffer[outer].inner;
            isSame = came._length == lab::INNER_COUNT;
            for (std::size_t inner = 0; isSame && inner < lab::INNER_COUNT; ++inner)
            {
                const auto& own = inners[outer * lab::INNER_COUNT + inner];
                isSame = came._buffer[inner].l == own.l && came._buffer[inner].d == own.d;
            }
        }
        return isSame;
    }

    std::vector<FloeTopics_Inner> inners;
    std::vector<FloeTopics_Outer> outers;
};

[[noreturn]] void rest()
{
    while (true)
    {
        pause();
    }
}

}

void lab::ping(const Task& task, const std::string& address)
{
    const auto participant = joined();
    const auto& type = task.isNested ? FloeTopics_PingRecords_desc : FloeTopics_PingBytes_desc;
    const auto writer = writerOf(participant, topicOf(participant, address, "ping", type));
    auto bytes = task.bytes();
    Records records(task.isNested ? task.count : 0);
    Pinger pinger([&](std::int32_t number) {
        const auto count = static_cast<std::uint32_t>(task.count);
        if (task.isNested)
        {
            const FloeTopics_PingRecords sample{number, {count, count, records.outers.data(), false}};
            check(dds_write(writer, &sample), "write");
            return;
        }
        const FloeTopics_PingBytes sample{number, {count, count, bytes.data(), false}};
        check(dds_write(writer, &sample), "write");
    });
    const auto acks = topicOf(participant, address, "ack", FloeTopics_Ack_desc);
    Reader<FloeTopics_Ack> reader(participant, acks, [&](const FloeTopics_Ack& ack) { pinger.answered(ack.number); });
    pinger.probe();
    rest();
}

void lab::reply(const Task& task, const std::string& address)
{
    const auto participant = joined();
    const auto writer = writerOf(participant, topicOf(participant, address, "ack", FloeTopics_Ack_desc));
    const auto answer = [writer](std::int32_t number, bool isRight) {
        if (!isRight)
        {
            die("expected the message of the case, got another");
        }
        const FloeTopics_Ack ack{number};
        check(dds_write(writer, &ack), "write");
    };
    if (task.isNested)
    {
        const Records records(task.count);
        bool isChecked = false;
        const auto topic = topicOf(participant, address, "ping", FloeTopics_PingRecords_desc);
        Reader<FloeTopics_PingRecords> reader(participant, topic, [&](const FloeTopics_PingRecords& ping) {
            // As the other contenders: all of the first message, and of the others the length.
            const bool isRight = ping.records._length == task.count && (isChecked || records.isSame(ping.records));
            isChecked = true;
            answer(ping.number, isRight);
        });
        rest();
    }
    const auto bytes = task.bytes();
    const auto topic = topicOf(participant, address, "ping", FloeTopics_PingBytes_desc);
    Reader<FloeTopics_PingBytes> reader(participant, topic, [&](const FloeTopics_PingBytes& ping) {
        const auto& came = ping.payload;
        answer(ping.number, came._length == bytes.size() && std::memcmp(came._buffer, bytes.data(), bytes.size()) == 0);
    });
    rest();
}
