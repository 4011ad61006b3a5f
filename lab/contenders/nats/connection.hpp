// A connection to a NATS server, for the contenders with and without JetStream: see events.hpp, which is included first.

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
inline natsConnection* connected(const Task& task, const std::string& address)
{
    natsOptions* options = nullptr;
    natsConnection* connection = nullptr;
    check(natsOptions_Create(&options));
    check(natsOptions_SetURL(options, ("nats://127.0.0.1:" + address).c_str()));
    // Else what is published waits for a thread that flushes.
    check(natsOptions_SetSendAsap(options, !task.isBatched()));
    check(natsConnection_Connect(&connection, options));
    natsOptions_Destroy(options);
    return connection;
}

}
