// A connection to a NATS server, for the contenders with and without JetStream: `lab::die` comes from events.hpp or topics.hpp,
// which is included first.

#pragma once

#include <nats/nats.h>

#include <string>

namespace lab
{

inline void check(natsStatus status)
{
    if (status != NATS_OK)
    {
        die(std::string("nats: ") + natsStatus_GetText(status));
    }
}

// Lives as long as the process.
inline natsConnection* connected(bool sendsEachMessage, const std::string& address, bool sharesThreads = false)
{
    natsOptions* options = nullptr;
    natsConnection* connection = nullptr;
    check(natsOptions_Create(&options));
    check(natsOptions_SetURL(options, ("nats://127.0.0.1:" + address).c_str()));
    // Else what is published waits for a thread that flushes.
    check(natsOptions_SetSendAsap(options, sendsEachMessage));
    check(natsOptions_UseGlobalMessageDelivery(options, sharesThreads));
    check(natsConnection_Connect(&connection, options));
    natsOptions_Destroy(options);
    return connection;
}

}
