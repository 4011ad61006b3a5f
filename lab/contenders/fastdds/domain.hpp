// Fast DDS as the contenders of all scenarios use it: reliable, over UDP on the loopback interface, as Cyclone DDS beside it, and
// not through shared memory, which is what `iceoryx2` is there for. The types are what its own translator makes of the IDL.
//
// `lab::fail` comes from the scenario's own header, which is included first.

#pragma once

#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/Topic.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastrtps/utils/IPLocator.h>

#include <functional>
#include <memory>
#include <string>

namespace lab
{

namespace dds = eprosima::fastdds::dds;
namespace rtps = eprosima::fastrtps::rtps;

const std::uint32_t DOMAIN_ID = 88;
// Participants that find one another: of a case with 20 subscribers, and of one that has just ended.
const std::uint32_t PARTICIPANTS_MAX = 60;

template<class T>
T* made(T* entity, const char* what)
{
    if (entity == nullptr)
    {
        fail(std::string("cannot create ") + what);
    }
    return entity;
}

// What topics, writers and readers promise one another.
template<class Qos>
Qos reliable(Qos qos)
{
    qos.reliability().kind = dds::RELIABLE_RELIABILITY_QOS;
    qos.history().kind = dds::KEEP_ALL_HISTORY_QOS;
    qos.durability().kind = dds::VOLATILE_DURABILITY_QOS;
    qos.resource_limits().max_samples = dds::LENGTH_UNLIMITED;
    qos.resource_limits().max_instances = dds::LENGTH_UNLIMITED;
    qos.resource_limits().max_samples_per_instance = dds::LENGTH_UNLIMITED;
    // Sequences have no limit.
    qos.endpoint().history_memory_policy = rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
    qos.data_sharing().off();
    return qos;
}

// This process in the domain, for as long as it lives.
class Domain
{
public:
    Domain()
    {
        dds::DomainParticipantQos qos = dds::PARTICIPANT_QOS_DEFAULT;
        const auto transport = std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>();
        transport->interfaceWhiteList = {"127.0.0.1"};
        transport->maxInitialPeersRange = PARTICIPANTS_MAX;
        // As large as UDP has them.
        transport->maxMessageSize = 65500;
        qos.transport().use_builtin_transports = false;
        qos.transport().user_transports.push_back(transport);
        rtps::Locator_t peer;
        rtps::IPLocator::setIPv4(peer, "127.0.0.1");
        qos.wire_protocol().builtin.initialPeersList.push_back(peer);
        participant_ = made(
            dds::DomainParticipantFactory::get_instance()->create_participant(DOMAIN_ID, qos), "a participant");
        publisher_ = made(participant_->create_publisher(dds::PUBLISHER_QOS_DEFAULT), "a publisher");
        subscriber_ = made(participant_->create_subscriber(dds::SUBSCRIBER_QOS_DEFAULT), "a subscriber");
    }

    // A topic of the type that `Support` is for. No two runs meet, because its name begins with that of the run.
    template<class Support>
    dds::Topic* topic(const std::string& address, const char* name)
    {
        const dds::TypeSupport type(new Support());
        type.register_type(participant_);
        return made(
            participant_->create_topic(address + "/" + name, type.get_type_name(), dds::TOPIC_QOS_DEFAULT), "a topic");
    }

    dds::DataWriter* writer(dds::Topic* topic, const std::function<void(dds::DataWriterQos&)>& set = [](auto&) {})
    {
        auto qos = reliable(dds::DATAWRITER_QOS_DEFAULT);
        set(qos);
        return made(publisher_->create_datawriter(topic, qos), "a writer");
    }

    void read(dds::Topic* topic, dds::DataReaderListener* listener)
    {
        auto qos = reliable(dds::DATAREADER_QOS_DEFAULT);
        // Who asks for an acknowledgement gets it, and not only after 5 ms.
        qos.reliable_reader_qos().times.heartbeatResponseDelay = eprosima::fastrtps::Duration_t(0, 0);
        made(subscriber_->create_datareader(topic, qos, listener), "a reader");
    }

private:
    dds::DomainParticipant* participant_;
    dds::Publisher* publisher_;
    dds::Subscriber* subscriber_;
};

// Takes samples of one type in the thread that receives; lives as long as the process.
template<class T>
class Listener : public dds::DataReaderListener
{
public:
    explicit Listener(std::function<void(const T&)> take) : take_(std::move(take)) {}

    void on_data_available(dds::DataReader* reader) override
    {
        dds::SampleInfo info;
        while (reader->take_next_sample(&sample_, &info) == eprosima::fastrtps::types::ReturnCode_t::RETCODE_OK)
        {
            if (info.valid_data)
            {
                take_(sample_);
            }
        }
    }

private:
    const std::function<void(const T&)> take_;
    // Keeps its memory from sample to sample.
    T sample_;
};

}
