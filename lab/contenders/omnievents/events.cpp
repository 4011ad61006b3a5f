// The scenario `events` with omniEvents, an event service of CORBA, and omniORB: see events.hpp. Events are pushed in both
// directions, each in an Any, and each push is answered; there are no batches.

#include <omniORB4/CORBA.h>

#include <CosEventChannelAdmin.hh>
#include <CosEventComm.hh>

#include <memory>
#include <mutex>

#include "events.hpp"

namespace
{

CORBA::ORB_ptr orb()
{
    static int count = 1;
    static char name[] = "events";
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

CosEventChannelAdmin::EventChannel_ptr channel(const std::string& address)
{
    const CORBA::Object_var object = orb()->string_to_object(address.c_str());
    return CosEventChannelAdmin::EventChannel::_narrow(object);
}

class Subscriber : public POA_CosEventComm::PushConsumer
{
public:
    explicit Subscriber(lab::Tally& tally) : tally_(tally) {}

    void push(const CORBA::Any& data) override
    {
        CORBA::LongLong number = 0;
        if (!(data >>= number))
        {
            lab::die("expected a number from omniEvents, got something else");
        }
        // omniORB may call from several threads, one after the other.
        const std::lock_guard<std::mutex> lock(mutex_);
        tally_.take(number);
    }

    void disconnect_push_consumer() override { lab::die("omniEvents has ended the subscription"); }

private:
    lab::Tally& tally_;
    std::mutex mutex_;
};

}

lab::Publish lab::publisher(const Task&, const std::string& address)
{
    const CosEventChannelAdmin::EventChannel_var channel = ::channel(address);
    const CosEventChannelAdmin::SupplierAdmin_var admin = channel->for_suppliers();
    const CosEventChannelAdmin::ProxyPushConsumer_var proxy = admin->obtain_push_consumer();
    proxy->connect_push_supplier(CosEventComm::PushSupplier::_nil());
    return [proxy](const Numbers& numbers) {
        for (const auto number : numbers)
        {
            CORBA::Any data;
            data <<= static_cast<CORBA::LongLong>(number);
            proxy->push(data);
        }
    };
}

void lab::subscriber(const Task&, Tally& tally, const std::string& address)
{
    static Subscriber servant(tally);
    activePoa();
    const CosEventComm::PushConsumer_var own = servant._this();
    const CosEventChannelAdmin::EventChannel_var channel = ::channel(address);
    const CosEventChannelAdmin::ConsumerAdmin_var admin = channel->for_consumers();
    static CosEventChannelAdmin::ProxyPushSupplier_var proxy = admin->obtain_push_supplier();
    proxy->connect_push_consumer(own);
    orb()->run();
}
