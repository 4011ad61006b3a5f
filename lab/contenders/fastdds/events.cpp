// The scenario `events` with Fast DDS: see events.hpp. There is no service: a writer sends each event to each reader itself, and
// keeps it until all of them have acknowledged it. Where events are acknowledged, a publisher waits until all readers have done
// so; where they are batched, a thread of the library writes, and collects events meanwhile.

#include "events.hpp"

#include "domain.hpp"
#include "eventsPubSubTypes.h"

#include <mutex>

namespace
{

using eprosima::fastrtps::Duration_t;

const Duration_t PATIENCE(60, 0);

// How often a writer asks for acknowledgements, in nanoseconds. By default it does so every three seconds: who waited for them
// would publish as rarely.
const Duration_t OFTEN(0, 20000);
const Duration_t SELDOM(0, 1000000);

}

lab::Publish lab::publisher(const Task& task, const std::string& address)
{
    // Lives as long as the process.
    auto* domain = new Domain();
    const bool isBatched = task.isBatched();
    dds::DataWriter* writer = domain->writer(
        domain->topic<FloeEvents::TickPubSubType>(address, "tick"), [isBatched](dds::DataWriterQos& qos) {
            qos.publish_mode().kind = isBatched ? dds::ASYNCHRONOUS_PUBLISH_MODE : dds::SYNCHRONOUS_PUBLISH_MODE;
            qos.reliable_writer_qos().times.heartbeatPeriod = isBatched ? SELDOM : OFTEN;
        });
    return [writer, isBatched](const Numbers& numbers) {
        FloeEvents::Tick tick;
        for (const auto number : numbers)
        {
            tick.number(number);
            if (!writer->write(&tick))
            {
                die("cannot write");
            }
        }
        if (!isBatched && writer->wait_for_acknowledgments(PATIENCE) != eprosima::fastrtps::types::ReturnCode_t::RETCODE_OK)
        {
            die("expected acknowledgements, got none");
        }
    };
}

void lab::subscriber(const Task&, Tally& tally, const std::string& address)
{
    Domain domain;
    // Several threads may receive.
    std::mutex mutex;
    Listener<FloeEvents::Tick> ticks([&](const FloeEvents::Tick& tick) {
        const std::lock_guard<std::mutex> lock(mutex);
        tally.take(tick.number());
    });
    domain.read(domain.topic<FloeEvents::TickPubSubType>(address, "tick"), &ticks);
    while (true)
    {
        pause();
    }
}
