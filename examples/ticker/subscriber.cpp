// Prints three ticks, with Ice for C++.
//
// Usage: subscriber [HUB-ENDPOINT]

#include <Ice/Ice.h>
#include <IceStorm/IceStorm.h>
#include <Ticker.h>

#include <condition_variable>
#include <iomanip>
#include <iostream>
#include <mutex>

class Printing : public Demo::Ticker
{
public:
    void wait()
    {
        std::unique_lock<std::mutex> lock(mutex);
        printed.wait(lock, [this] { return count == 3; });
    }

private:
    void tick(Demo::Tick tick, const Ice::Current&) override
    {
        std::lock_guard<std::mutex> lock(mutex);
        if (count < 3)
        {
            std::cout << tick.symbol << " " << tick.price << std::endl;
            ++count;
        }
        printed.notify_all();
    }

    std::mutex mutex;
    std::condition_variable printed;
    int count = 0;
};

std::shared_ptr<IceStorm::TopicPrx> ticker_topic(const std::shared_ptr<IceStorm::TopicManagerPrx>& topics)
{
    try
    {
        return topics->create("ticker");
    }
    catch (const IceStorm::TopicExists&)
    {
        return topics->retrieve("ticker");
    }
}

int main(int argc, char* argv[])
{
    Ice::CommunicatorHolder ice(argc, argv);
    std::string hub = argc > 1 ? argv[1] : "tcp -h 127.0.0.1 -p 10000";
    std::cout << std::fixed << std::setprecision(2);
    auto printing = std::make_shared<Printing>();
    auto adapter = ice->createObjectAdapterWithEndpoints("Ticker", "tcp -h 127.0.0.1 -p 0");
    auto subscriber = adapter->addWithUUID(printing);
    adapter->activate();

    auto manager = ice->stringToProxy("IceStorm/TopicManager:" + hub);
    auto topic = ticker_topic(Ice::checkedCast<IceStorm::TopicManagerPrx>(manager));
    // Ordered: one event at a time.
    topic->subscribeAndGetPublisher({{"reliability", "ordered"}}, subscriber);
    std::cout << "ready" << std::endl;
    printing->wait();
    topic->unsubscribe(subscriber);
}
