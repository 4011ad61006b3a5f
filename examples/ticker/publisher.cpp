// Publishes a few ticks, with Ice for C++.
//
// Usage: publisher [HUB-ENDPOINT]

#include <Ice/Ice.h>
#include <IceStorm/IceStorm.h>
#include <Ticker.h>

#include <iomanip>
#include <iostream>

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
    auto manager = ice->stringToProxy("IceStorm/TopicManager:" + hub);
    auto topic = ticker_topic(Ice::checkedCast<IceStorm::TopicManagerPrx>(manager));
    auto ticker = Ice::uncheckedCast<Demo::TickerPrx>(topic->getPublisher());
    std::cout << std::fixed << std::setprecision(2);
    for (const auto& tick : {Demo::Tick{"FLOE", 1.5}, Demo::Tick{"ICE", 0.5}, Demo::Tick{"FLOE", 1.75}})
    {
        ticker->tick(tick);
        std::cout << "published " << tick.symbol << " " << tick.price << std::endl;
    }
}
