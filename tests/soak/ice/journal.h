// A journal as tests/soak/src/journal.rs describes it: records of 9 bytes in a file that is only appended to.

#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>

class Journal
{
public:
    explicit Journal(const char* path) : _file(open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0600))
    {
        if (_file < 0)
        {
            throw std::runtime_error("cannot create the journal");
        }
    }

    Journal(const Journal&) = delete;

    void note(long long id, char what)
    {
        unsigned char record[9];
        for (int i = 0; i < 8; ++i)
        {
            record[i] = static_cast<unsigned char>(static_cast<std::uint64_t>(id) >> (8 * i));
        }
        record[8] = static_cast<unsigned char>(what);
        if (write(_file, record, sizeof record) != sizeof record)
        {
            throw std::runtime_error("cannot write the journal");
        }
    }

private:
    const int _file;
};
