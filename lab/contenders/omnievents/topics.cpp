// The scenario `pubsub-rtt` with omniEvents, an event service of CORBA, and omniORB: see topics.hpp. There is a channel for each
// topic; a push is answered, as CORBA's event service has it.

#include <omniORB4/CORBA.h>

#include <CosEventChannelAdmin.hh>
#include <CosEventComm.hh>

#include "topics.hh"
#include "topics.hpp"

namespace
{

CORBA::ORB_ptr orb()
{
    static int count = 1;
    static char name[] = "topics";
    static char* words[] = {name, nullptr};
    static const char* options[][2] = {{"endPoint", "giop:tcp:127.0.0.1:"}, {nullptr, nullptr}};
    static CORBA::ORB_var orb = CORBA::ORB_init(count, words, "omniORB4", options);
    return orb;
}

PortableServer::POA_ptr activePoa()
{
    static PortableServer::POA_var poa =
        PortableServer::POA::_narrow(CORBA::Object_var(orb()->resolve_initial_references("RootPOA")));
    PortableServer::POAManager_var(poa->the_POAManager())->activate();
    return poa;
}

CosEventChannelAdmin::EventChannel_ptr channel(const std::string& address, const char* topic)
{
    const CORBA::Object_var object = orb()->string_to_object((address + topic).c_str());
    return CosEventChannelAdmin::EventChannel::_narrow(object);
}

CosEventChannelAdmin::ProxyPushConsumer_var publisher(const std::string& address, const char* topic)
{
    const CosEventChannelAdmin::EventChannel_var channel = ::channel(address, topic);
    const CosEventChannelAdmin::SupplierAdmin_var admin = channel->for_suppliers();
    const CosEventChannelAdmin::ProxyPushConsumer_var proxy = admin->obtain_push_consumer();
    proxy->connect_push_supplier(CosEventComm::PushSupplier::_nil());
    return proxy;
}

class Subscriber : public POA_CosEventComm::PushConsumer
{
public:
    explicit Subscriber(std::function<void(const CORBA::Any&)> take) : take_(std::move(take)) {}

    void push(const CORBA::Any& data) override { take_(data); }

    void disconnect_push_consumer() override { lab::die("omniEvents has ended the subscription"); }

private:
    const std::function<void(const CORBA::Any&)> take_;
};

void subscribe(const std::string& address, const char* topic, Subscriber& servant)
{
    activePoa();
    const CosEventComm::PushConsumer_var own = servant._this();
    const CosEventChannelAdmin::EventChannel_var channel = ::channel(address, topic);
    const CosEventChannelAdmin::ConsumerAdmin_var admin = channel->for_consumers();
    static CosEventChannelAdmin::ProxyPushSupplier_var proxy = admin->obtain_push_supplier();
    proxy->connect_push_consumer(own);
}

FloeTopics::OuterSeq records(std::size_t count)
{
    FloeTopics::OuterSeq value;
    value.length(static_cast<CORBA::ULong>(count));
    CORBA::ULong index = 0;
    for (CORBA::ULong outer = 0; outer < value.length(); ++outer)
    {
        value[outer].inner.length(lab::INNER_COUNT);
        for (CORBA::ULong inner = 0; inner < lab::INNER_COUNT; ++inner, ++index)
        {
            value[outer].inner[inner].l = index;
            value[outer].inner[inner].d = index * 0.25;
        }
    }
    return value;
}

bool areSame(const FloeTopics::OuterSeq& one, const FloeTopics::OuterSeq& other)
{
    bool areSame = one.length() == other.length();
    for (CORBA::ULong outer = 0; areSame && outer < one.length(); ++outer)
    {
        const auto& inners = one[outer].inner;
        areSame = inners.length() == other[outer].inner.length();
        for (CORBA::ULong inner = 0; areSame && inner < inners.length(); ++inner)
        {
            areSame = inners[inner].l == other[outer].inner[inner].l && inners[inner].d == other[outer].inner[inner].d;
        }
    }
    return areSame;
}

FloeTopics::Bytes sequenceOf(const std::vector<std::uint8_t>& bytes)
{
    FloeTopics::Bytes value;
    value.length(static_cast<CORBA::ULong>(bytes.size()));
    std::memcpy(value.get_buffer(), bytes.data(), bytes.size());
    return value;
}

}

void lab::ping(const Task& task, const std::string& address)
{
    const CosEventChannelAdmin::ProxyPushConsumer_var messages = publisher(address, "ping");
    FloeTopics::PingBytes bytes;
    FloeTopics::PingRecords nested;
    if (task.isNested)
    {
        nested.records = records(task.count);
    }
    else
    {
        bytes.payload = sequenceOf(task.bytes());
    }
    Pinger pinger([&](std::int32_t number) {
        CORBA::Any data;
        if (task.isNested)
        {
            nested.number = number;
            data <<= nested;
        }
        else
        {
            bytes.number = number;
            data <<= bytes;
        }
        messages->push(data);
    });
    Subscriber subscriber([&](const CORBA::Any& data) {
        const FloeTopics::Ack* ack = nullptr;
        if (!(data >>= ack))
        {
            die("expected an acknowledgement from omniEvents, got something else");
        }
        pinger.answered(ack->number);
    });
    subscribe(address, "ack", subscriber);
    pinger.probe();
    orb()->run();
}

void lab::reply(const Task& task, const std::string& address)
{
    const CosEventChannelAdmin::ProxyPushConsumer_var acks = publisher(address, "ack");
    const FloeTopics::OuterSeq expected = task.isNested ? records(task.count) : FloeTopics::OuterSeq();
    const auto bytes = task.bytes();
    bool isChecked = false;
    Subscriber subscriber([&](const CORBA::Any& data) {
        FloeTopics::Ack ack;
        bool isRight = false;
        const FloeTopics::PingRecords* nested = nullptr;
        const FloeTopics::PingBytes* message = nullptr;
        if (task.isNested && (data >>= nested))
        {
            // As the other contenders: all of the first message, and of the others the length.
            isRight = nested->records.length() == task.count && (isChecked || areSame(nested->records, expected));
            isChecked = true;
            ack.number = nested->number;
        }
        else if (!task.isNested && (data >>= message))
        {
            isRight = message->payload.length() == bytes.size() &&
                std::memcmp(message->payload.get_buffer(), bytes.data(), bytes.size()) == 0;
            ack.number = message->number;
        }
        if (!isRight)
        {
            die("expected the message of the case, got another");
        }
        CORBA::Any answer;
        answer <<= ack;
        acks->push(answer);
    });
    subscribe(address, "ping", subscriber);
    orb()->run();
}
