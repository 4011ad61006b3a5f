// A program with gSOAP at a bridge's broker of WS-Notification. Its classes are generated from the WSDL of the broker.
//
// Usage: peer subscribe ADDRESS COUNT
//        peer publish ADDRESS WORLD SEED...
//
// ADDRESS is the host and port of the broker. The first makes a pull point, prints `ready`, then each event as a line of JSON,
// and ends after COUNT; the second publishes the event of each seed, and ends when all are acknowledged.

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "NotificationBrokerSoap11.nsmap"
#include "soapNotificationBrokerSoap11Proxy.h"

static const char* const CONCRETE = "http://docs.oasis-open.org/wsn/t-1/TopicExpression/Concrete";

static NotificationBrokerSoap11Proxy proxy(SOAP_C_UTFSTRING);

// Ends the program if a call failed, with the fault.
static void check(int failed)
{
    if (failed)
    {
        proxy.soap_stream_fault(std::cerr);
        std::exit(1);
    }
}

static std::string* dialect()
{
    std::string* uri = soap_new_std__string(proxy.soap);
    *uri = CONCRETE;
    return uri;
}

static wsnt__TopicExpressionType* topic()
{
    wsnt__TopicExpressionType* expression = soap_new_wsnt__TopicExpressionType(proxy.soap);
    expression->__item = "ticks";
    expression->Dialect = dialect();
    return expression;
}

static ns2__Level* level(double price, LONG64 size)
{
    ns2__Level* level = soap_new_ns2__Level(proxy.soap);
    level->price = price;
    level->size = size;
    return level;
}

static ns2__Tick* event(const std::string& world, int seed)
{
    const bool isOdd = seed % 2 != 0;
    static unsigned char raw[6];
    const unsigned char bytes[6] = {0, 1, 127, 128, 255, static_cast<unsigned char>(seed % 256)};
    std::copy(bytes, bytes + 6, raw);
    ns2__Tick* tick = soap_new_ns2__Tick(proxy.soap);
    tick->side = isOdd ? ns2__Side__sell : ns2__Side__buy;
    tick->venue = soap_new_ns2__Venue(proxy.soap);
    tick->venue->name = "Zürich 東京 " + world;
    tick->venue->line = seed;
    tick->book = soap_new_ns2__Levels(proxy.soap);
    tick->book->item.push_back(level(seed + 0.25, -1099511627776LL - seed));
    tick->book->item.push_back(level(-0.5, 9007199254740993LL));
    tick->raw.__ptr = raw;
    tick->raw.__size = 6;
    tick->firm = isOdd;
    tick->id = 4611686018427387904LL + seed;
    tick->price = seed / 8.0;
    tick->text = "naïve ✓ " + world + " " + std::to_string(seed);
    return tick;
}

static void show(const ns2__Tick& tick)
{
    std::printf("{\"side\":\"%s\",", tick.side == ns2__Side__sell ? "sell" : "buy");
    std::printf("\"venue\":{\"name\":\"%s\",\"line\":%d},\"book\":[", tick.venue->name.c_str(), tick.venue->line);
    const char* separator = "";
    for (const ns2__Level* level : tick.book->item)
    {
        std::printf("%s{\"price\":%.17g,\"size\":%lld}", separator, level->price, static_cast<long long>(level->size));
        separator = ",";
    }
    std::printf("],\"raw\":\"");
    for (int index = 0; index < tick.raw.__size; ++index)
    {
        std::printf("%02x", tick.raw.__ptr[index]);
    }
    std::printf("\",\"firm\":%s,\"id\":%lld,", tick.firm ? "true" : "false", static_cast<long long>(tick.id));
    // JSON tells a double by its point.
    char price[40];
    std::snprintf(price, sizeof price, "%.17g", tick.price);
    const bool isWhole = std::string(price).find_first_of(".e") == std::string::npos;
    std::printf("\"price\":%s%s,\"text\":\"%s\"}\n", price, isWhole ? ".0" : "", tick.text.c_str());
    std::fflush(stdout);
}

static void publish(const std::string& world, int seed)
{
    _wsnt__Notify notify;
    wsnt__NotificationMessageHolderType* message = soap_new_wsnt__NotificationMessageHolderType(proxy.soap);
    message->Topic = topic();
    message->Message = soap_new_wsnt__EventType(proxy.soap);
    message->Message->__union_EventType = SOAP_UNION__wsnt__union_EventType_ns2__Ticker_USCOREEvent;
    message->Message->union_EventType.ns2__Ticker_USCOREEvent = event(world, seed);
    notify.NotificationMessage.push_back(message);
    // With the answer to a message that has none in SOAP, the events are acknowledged.
    check(proxy.Notify(&notify));
}

static void subscribe(int count)
{
    _wsnt__CreatePullPoint create;
    _wsnt__CreatePullPointResponse created;
    check(proxy.CreatePullPoint(&create, created));
    const std::string pullPoint = created.PullPoint->Address->__item;
    _wsnt__Subscribe subscribe;
    subscribe.ConsumerReference = created.PullPoint;
    subscribe.Filter = soap_new_wsnt__FilterType(proxy.soap);
    subscribe.Filter->TopicExpression = topic();
    _wsnt__SubscribeResponse subscribed;
    check(proxy.Subscribe(&subscribe, subscribed));
    std::printf("ready\n");
    std::fflush(stdout);
    const std::time_t end = std::time(nullptr) + 60;
    while (count > 0 && std::time(nullptr) < end)
    {
        _wsnt__GetMessages get;
        _wsnt__GetMessagesResponse got;
        check(proxy.GetMessages(pullPoint.c_str(), nullptr, &get, got));
        for (const wsnt__NotificationMessageHolderType* message : got.NotificationMessage)
        {
            show(*message->Message->union_EventType.ns2__Ticker_USCOREEvent);
            --count;
        }
    }
    _wsnt__DestroyPullPoint destroy;
    _wsnt__DestroyPullPointResponse destroyed;
    check(proxy.DestroyPullPoint(pullPoint.c_str(), nullptr, &destroy, destroyed));
    if (count > 0)
    {
        std::exit(1);
    }
}

int main(int argc, char** argv)
{
    if (argc < 4)
    {
        return 2;
    }
    const std::string url = "http://" + std::string(argv[2]) + "/";
    proxy.soap_endpoint = url.c_str();
    if (std::string(argv[1]) == "subscribe")
    {
        subscribe(std::atoi(argv[3]));
        return 0;
    }
    for (int index = 4; index < argc; ++index)
    {
        publish(argv[3], std::atoi(argv[index]));
    }
    return 0;
}
