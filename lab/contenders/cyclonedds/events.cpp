// The scenario `events` with Cyclone DDS: see events.hpp. There is no service: a writer sends each event to each reader
// itself, and keeps it until all of them have acknowledged it. Where events are acknowledged, a publisher waits until all
// readers have done so; where they are batched, the writer fills messages, and a publisher waits only where too much is kept.
//
// Readers listen in the thread that receives. The topic has the run's name, so that no two runs meet.

#include "events.hpp"

#include "domain.hpp"
#include "events.h"

#include <mutex>

namespace
{

dds_entity_t topicOf(dds_entity_t participant, const std::string& address, const dds_qos_t* qos)
{
    std::string name = address;
    for (char& letter : name)
    {
        letter = letter == '-' ? '_' : letter;
    }
    const auto topic = dds_create_topic(participant, &FloeEvents_Tick_desc, name.c_str(), qos, nullptr);
    return lab::check(topic, "create a topic");
}

// A writer asks for acknowledgements with each event. By default it does so ten times a second, for all that it has
// written: who waited for them would publish as rarely.
const std::string AT_ONCE = "<HeartbeatInterval min='1us' minsched='1us' max='1ms'>1us</HeartbeatInterval>";

// Guards what the receiving threads count.
std::mutex mutex;

void take(dds_entity_t reader, void* self)
{
    const std::lock_guard<std::mutex> lock(mutex);
    void* samples[64] = {nullptr};
    dds_sample_info_t infos[64];
    int count = 0;
    do
    {
        count = lab::check(dds_take(reader, samples, infos, 64, 64), "take");
        for (int index = 0; index < count; ++index)
        {
            if (infos[index].valid_data)
            {
                static_cast<lab::Tally*>(self)->take(static_cast<const FloeEvents_Tick*>(samples[index])->number);
            }
        }
        if (count > 0)
        {
            lab::check(dds_return_loan(reader, samples, count), "return a loan");
        }
    } while (count > 0);
}

}

lab::Publish lab::publisher(const Task& task, const std::string& address)
{
    const auto participant = joined(task.isBatched() ? "" : AT_ONCE);
    if (task.isBatched())
    {
        dds_write_set_batch(true);
    }
    dds_qos_t* qos = reliable();
    const auto topic = topicOf(participant, address, qos);
    const auto writer = check(dds_create_writer(participant, topic, qos, nullptr), "create a writer");
    dds_delete_qos(qos);
    const bool isBatched = task.isBatched();
    return [writer, isBatched](const Numbers& numbers) {
        for (const auto number : numbers)
        {
            const FloeEvents_Tick tick{number};
            check(dds_write(writer, &tick), "write");
        }
        if (isBatched)
        {
            dds_write_flush(writer);
        }
        else
        {
            check(dds_wait_for_acks(writer, DDS_INFINITY), "wait for acknowledgements");
        }
    };
}

void lab::subscriber(const Task&, Tally& tally, const std::string& address)
{
    const auto participant = joined();
    dds_qos_t* qos = reliable();
    const auto topic = topicOf(participant, address, qos);
    dds_listener_t* listener = dds_create_listener(&tally);
    dds_lset_data_available(listener, take);
    check(dds_create_reader(participant, topic, qos, listener), "create a reader");
    dds_delete_listener(listener);
    dds_delete_qos(qos);
    while (true)
    {
        pause();
    }
}
