// An unmodified Ice for C++ subscriber to an IceStorm topic.
//
// Usage: subscriber MANAGER TOPIC MODE COUNT [ICE OPTIONS]
//
// MANAGER is the proxy of a topic manager, MODE one of twoway, ordered, durable, oneway, batch, datagram, batch-datagram. Makes
// the topic if it is not there, subscribes, and prints `ready`; then one line for each event; and unsubscribes after COUNT
// events or at the end of standard input, with a last line `received N`.

#include <Ice/Ice.h>
#include <IceStorm/IceStorm.h>
#include <Interop.h>

#include <condition_variable>
#include <deque>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

using namespace Interop;

namespace
{

// Lines on their way from the servant to the main thread.
class Lines
{
public:
    void put(const std::string& line)
    {
        const std::lock_guard<std::mutex> lock(_mutex);
        _lines.push_back(line);
        _changed.notify_one();
    }

    void end()
    {
        const std::lock_guard<std::mutex> lock(_mutex);
        _ended = true;
        _changed.notify_one();
    }

    // Waits for a line; false at the end.
    bool take(std::string& line)
    {
        std::unique_lock<std::mutex> lock(_mutex);
        _changed.wait(lock, [this] { return _ended || !_lines.empty(); });
        if (_lines.empty())
        {
            return false;
        }
        line = _lines.front();
        _lines.pop_front();
        return true;
    }

private:
    std::mutex _mutex; // guards the rest
    std::condition_variable _changed;
    std::deque<std::string> _lines;
    bool _ended = false;
};

class EventsServant : public Events
{
public:
    explicit EventsServant(std::shared_ptr<Lines> lines) : _lines(std::move(lines)) {}

    void sampled(Sample item, const Ice::Current&) override
    {
        std::ostringstream line;
        line << "sampled " << item.number << " [" << item.label << "] ";
        for (std::size_t i = 0; i < item.values.size(); ++i)
        {
            line << (i == 0 ? "" : ",") << item.values[i];
        }
        _lines->put(line.str());
    }

    void flagged(std::string key, bool value, const Ice::Current&) override
    {
        _lines->put("flagged " + key + (value ? " true" : " false"));
    }

private:
    const std::shared_ptr<Lines> _lines;
};

std::shared_ptr<IceStorm::TopicPrx> findTopic(
    const std::shared_ptr<IceStorm::TopicManagerPrx>& manager, const std::string& name)
{
    try
    {
        return manager->retrieve(name);
    }
    catch (const IceStorm::NoSuchTopic&)
    {
        return manager->create(name);
    }
}

std::shared_ptr<Ice::ObjectPrx> inMode(const std::shared_ptr<Ice::ObjectPrx>& proxy, const std::string& mode)
{
    const std::map<std::string, std::shared_ptr<Ice::ObjectPrx>> modes{
        {"twoway", proxy->ice_twoway()},
        {"ordered", proxy->ice_twoway()},
        {"durable", proxy->ice_twoway()},
        {"oneway", proxy->ice_oneway()},
        {"batch", proxy->ice_batchOneway()},
        {"datagram", proxy->ice_datagram()},
        {"batch-datagram", proxy->ice_batchDatagram()}};
    return modes.at(mode);
}

void endAtEndOfInput(std::shared_ptr<Lines> lines)
{
    std::string line;
    while (std::getline(std::cin, line))
    {
    }
    lines->end();
}

int printEvents(Lines& lines, int count)
{
    std::string line;
    for (int received = 0; received < count; ++received)
    {
        if (!lines.take(line))
        {
            return received;
        }
        std::cout << line << std::endl;
    }
    return count;
}

int subscribe(int argc, char* argv[])
{
    Ice::CommunicatorHolder communicator(argc, argv);
    if (argc != 5)
    {
        throw std::invalid_argument("expected MANAGER TOPIC MODE COUNT");
    }
    const std::string mode = argv[3];
    const auto manager = Ice::checkedCast<IceStorm::TopicManagerPrx>(communicator->stringToProxy(argv[1]));
    const auto topic = findTopic(manager, argv[2]);
    const auto endpoints = communicator->getProperties()->getPropertyWithDefault(
        "Subscriber.Endpoints", "tcp -h 127.0.0.1 -p 0");
    const auto adapter = communicator->createObjectAdapterWithEndpoints("Subscriber", endpoints);
    const auto lines = std::make_shared<Lines>();
    const auto subscriber = inMode(adapter->addWithUUID(std::make_shared<EventsServant>(lines)), mode);
    adapter->activate();
    IceStorm::QoS qos;
    if (mode == "ordered" || mode == "durable")
    {
        qos["reliability"] = "ordered";
    }
    if (mode == "durable")
    {
        qos["floe.durable"] = "interop";
        qos["floe.from"] = "beginning";
    }
    topic->subscribeAndGetPublisher(qos, subscriber);
    std::cout << "ready" << std::endl;
    std::thread(endAtEndOfInput, lines).detach();
    const int received = printEvents(*lines, std::stoi(argv[4]));
    topic->unsubscribe(subscriber);
    std::cout << "received " << received << std::endl;
    return 0;
}

}

int main(int argc, char* argv[])
{
    try
    {
        return subscribe(argc, argv);
    }
    catch (const std::exception& error)
    {
        std::cerr << "failed: " << error.what() << std::endl;
        return 1;
    }
}
