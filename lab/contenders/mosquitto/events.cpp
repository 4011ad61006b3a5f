// The scenario `events` with mosquitto, an MQTT broker, and its library: see events.hpp. Events are acknowledged at both
// ends with QoS 1, and not at all with QoS 0 where they are batched; MQTT has no batches, so that these are messages which
// follow one another.

#include <mosquitto.h>

#include <condition_variable>
#include <cstring>
#include <mutex>

#include <poll.h>

#include "events.hpp"

namespace
{

const char* const TOPIC = "tick";

void check(int result)
{
    if (result != MOSQ_ERR_SUCCESS)
    {
        lab::die(std::string("mosquitto: ") + mosquitto_strerror(result));
    }
}

mosquitto* connected(const std::string& address, void* self)
{
    mosquitto_lib_init();
    mosquitto* const client = mosquitto_new(nullptr, true, self);
    check(mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, 1));
    // Unlimited.
    check(mosquitto_int_option(client, MOSQ_OPT_SEND_MAXIMUM, 65535));
    check(mosquitto_int_option(client, MOSQ_OPT_RECEIVE_MAXIMUM, 65535));
    check(mosquitto_connect(client, "127.0.0.1", std::stoi(address), 60));
    return client;
}

}

// One thread publishes and reads the acknowledgements itself: none has to be woken.
lab::Publish lab::publisher(const Task& task, const std::string& address)
{
    static int acknowledged = 0;
    mosquitto* const client = connected(address, nullptr);
    static bool isConnected = false;
    mosquitto_connect_callback_set(client, [](mosquitto*, void*, int result) {
        check(result);
        isConnected = true;
    });
    while (!isConnected)
    {
        check(mosquitto_loop(client, 100, 1));
    }
    if (task.isBatched())
    {
        return [client](const Numbers& numbers) {
            for (const auto number : numbers)
            {
                check(mosquitto_publish(client, nullptr, TOPIC, sizeof number, &number, 0, false));
            }
            // What did not fit into the socket waits in the library.
            while (mosquitto_want_write(client))
            {
                pollfd ready{mosquitto_socket(client), POLLOUT, 0};
                poll(&ready, 1, -1);
                check(mosquitto_loop_write(client, 1));
            }
            check(mosquitto_loop_misc(client));
        };
    }
    mosquitto_publish_callback_set(client, [](mosquitto*, void*, int) { ++acknowledged; });
    return [client, expected = 0](const Numbers& numbers) mutable {
        for (const auto number : numbers)
        {
            check(mosquitto_publish(client, nullptr, TOPIC, sizeof number, &number, 1, false));
            ++expected;
            while (acknowledged < expected)
            {
                check(mosquitto_loop(client, 1000, 1));
            }
        }
    };
}

void lab::subscriber(const Task& task, Tally& tally, const std::string& address)
{
    static int qos = 0;
    qos = task.isBatched() ? 0 : 1;
    mosquitto* const client = connected(address, &tally);
    mosquitto_connect_callback_set(client, [](mosquitto* client, void*, int result) {
        check(result);
        check(mosquitto_subscribe(client, nullptr, TOPIC, qos));
    });
    mosquitto_message_callback_set(client, [](mosquitto*, void* self, const mosquitto_message* message) {
        std::int64_t number = 0;
        std::memcpy(&number, message->payload, sizeof number);
        static_cast<Tally*>(self)->take(number);
    });
    check(mosquitto_loop_forever(client, -1, 1));
}
