// Cyclone DDS as the contenders of all scenarios use it: reliable, over UDP on the loopback interface, in messages as
// large as UDP has them.
//
// `lab::fail` comes from the scenario's own header, which is included first.

#pragma once

#include <dds/dds.h>

#include <string>

namespace lab
{

const dds_domainid_t DOMAIN_ID = 87;

// What all have in common, in front of settings of their own.
const char* const CONFIGURATION =
    "<General>"
    "  <Interfaces><NetworkInterface name='lo' multicast='false'/></Interfaces>"
    "  <AllowMulticast>false</AllowMulticast>"
    "  <MaxMessageSize>65500B</MaxMessageSize>"
    "  <FragmentSize>65000B</FragmentSize>"
    "</General>"
    "<Discovery>"
    "  <ParticipantIndex>auto</ParticipantIndex>"
    "  <MaxAutoParticipantIndex>60</MaxAutoParticipantIndex>"
    "  <Peers><Peer address='127.0.0.1'/></Peers>"
    "</Discovery>"
    "<Internal>"
    // A writer that waited for acknowledgements in the thread that reads them would wait for ever. An adaptive limit falls far
    // below a gigabyte when something is sent again, as on a busy machine.
    "  <Watermarks>"
    "    <WhcHigh>1GB</WhcHigh><WhcHighInit>1GB</WhcHighInit><WhcAdaptive>false</WhcAdaptive>"
    "  </Watermarks>";

inline dds_return_t check(dds_return_t code, const char* action)
{
    if (code < 0)
    {
        fail(std::string("cannot ") + action + ": " + dds_strretcode(code));
    }
    return code;
}

// This process in the domain, for as long as it lives; with further settings in `Internal`.
inline dds_entity_t joined(const std::string& settings = "")
{
    const std::string configuration = CONFIGURATION + settings + "</Internal>";
    check(dds_create_domain(DOMAIN_ID, configuration.c_str()), "configure a domain");
    return check(dds_create_participant(DOMAIN_ID, nullptr, nullptr), "join the domain");
}

// What topics, writers and readers promise one another; the caller's to delete.
inline dds_qos_t* reliable()
{
    dds_qos_t* qos = dds_create_qos();
    dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_INFINITY);
    dds_qset_history(qos, DDS_HISTORY_KEEP_ALL, 0);
    return qos;
}

}
