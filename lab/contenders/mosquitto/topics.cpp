// The scenario `pubsub-rtt` with mosquitto, an MQTT broker, and its library, with QoS 0: see topics.hpp. One thread reads and
// publishes.

#include <mosquitto.h>

#include "topics.hpp"

namespace
{

void check(int result)
{
    if (result != MOSQ_ERR_SUCCESS)
    {
        lab::die(std::string("mosquitto: ") + mosquitto_strerror(result));
    }
}

// A client that has subscribed to a topic.
class Client
{
public:
    Client(const std::string& address, std::string topic) : topic_(std::move(topic))
    {
        mosquitto_lib_init();
        client_ = mosquitto_new(nullptr, true, this);
        check(mosquitto_int_option(client_, MOSQ_OPT_TCP_NODELAY, 1));
        mosquitto_connect_callback_set(client_, [](mosquitto* client, void* self, int result) {
            check(result);
            check(mosquitto_subscribe(client, nullptr, static_cast<Client*>(self)->topic_.c_str(), 0));
        });
        mosquitto_subscribe_callback_set(client_, [](mosquitto*, void* self, int, int, const int*) {
            static_cast<Client*>(self)->isSubscribed_ = true;
        });
        mosquitto_message_callback_set(client_, [](mosquitto*, void* self, const mosquitto_message* message) {
            const auto* data = static_cast<const std::uint8_t*>(message->payload);
            static_cast<Client*>(self)->messages_.emplace_back(data, data + message->payloadlen);
        });
        check(mosquitto_connect(client_, "127.0.0.1", std::stoi(address), 60));
        while (!isSubscribed_)
        {
            check(mosquitto_loop(client_, 100, 1));
        }
    }

    // Not from a callback, in which the library does not write.
    void publish(const char* topic, const std::vector<std::uint8_t>& message)
    {
        check(mosquitto_publish(client_, nullptr, topic, static_cast<int>(message.size()), message.data(), 0, false));
    }

    // What has come, after so many milliseconds at the latest.
    std::vector<std::vector<std::uint8_t>> take(int millis)
    {
        messages_.clear();
        check(mosquitto_loop(client_, millis, 1));
        return std::move(messages_);
    }

private:
    const std::string topic_;
    mosquitto* client_ = nullptr;
    bool isSubscribed_ = false;
    std::vector<std::vector<std::uint8_t>> messages_;
};

}

void lab::ping(const Task& task, const std::string& address)
{
    Client client(address, "ack");
    const auto payload = task.bytes();
    Pinger pinger([&](std::int32_t number) { client.publish("ping", message(number, payload)); });
    while (true)
    {
        if (!pinger.isOpen())
        {
            client.publish("ping", message(PROBE, payload));
        }
        for (const auto& ack : client.take(pinger.isOpen() ? 1000 : 5))
        {
            pinger.answered(numberOf(ack.data(), ack.size(), {}));
        }
    }
}

void lab::reply(const Task& task, const std::string& address)
{
    Client client(address, "ping");
    const auto payload = task.bytes();
    while (true)
    {
        for (const auto& ping : client.take(1000))
        {
            client.publish("ack", message(numberOf(ping.data(), ping.size(), payload), {}));
        }
    }
}
