// gRPC, in C++: documents over a slow line, compressed with gzip if LAB_COMPRESS is defined.

#include <grpcpp/grpcpp.h>

#include <atomic>

#include "documents.grpc.pb.h"
#include "documents.hpp"

namespace
{

using floe_documents::Empty;
using floe_documents::Integer;
using floe_documents::Library;
using floe_lab::Bibliography;
using floe_lab::Text;

class Servant : public Library::Service
{
public:
    grpc::Status TakeText(grpc::ServerContext*, const Text* text, Empty*) override
    {
        taken_ += text->lines_size();
        return grpc::Status::OK;
    }

    grpc::Status TakeBibliography(grpc::ServerContext*, const Bibliography* bibliography, Empty*) override
    {
        taken_ += bibliography->entries_size();
        return grpc::Status::OK;
    }

    grpc::Status Taken(grpc::ServerContext*, const Empty*, Integer* answer) override
    {
        answer->set_value(taken_);
        return grpc::Status::OK;
    }

private:
    std::atomic<std::int64_t> taken_{0};
};

Text text()
{
    Text value;
    for (const auto& line : lab::TEXT)
    {
        value.add_lines(line);
    }
    return value;
}

Bibliography bibliography(const std::vector<lab::Entry>& entries)
{
    Bibliography all;
    for (const auto& entry : entries)
    {
        auto& value = *all.add_entries();
        for (const auto& author : entry.authors)
        {
            auto& by = *value.add_authors();
            by.set_lastname(author.lastname);
            by.set_initials(author.initials);
        }
        value.set_title(entry.title);
        value.set_journal(entry.journal);
        value.set_year(entry.year);
        value.set_publisher(entry.publisher);
        value.set_location(entry.location);
        value.set_edition(entry.edition);
        value.set_hyperlink(entry.hyperlink);
        value.set_volume(entry.volume);
        value.set_issue(entry.issue);
        value.mutable_page()->set_start(entry.page.start);
        value.mutable_page()->set_end(entry.page.end);
    }
    return all;
}

void expectDone(const grpc::Status& status)
{
    if (!status.ok())
    {
        throw std::runtime_error("expected a reply, got: " + status.error_message());
    }
}

}

void lab::serve()
{
    Servant servant;
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(host() + ":0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&servant);
    const auto server = builder.BuildAndStart();
    if (!server)
    {
        throw std::runtime_error("cannot start the server");
    }
    announce(host() + ":" + std::to_string(port));
    waitForEnd();
    // Without waiting for calls that have a client no more.
    server->Shutdown(std::chrono::system_clock::now());
}

void lab::call(Task& task, const std::string& address)
{
    const auto stub = Library::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
    const auto taken = [&] {
        grpc::ClientContext context;
        Integer answer;
        expectDone(stub->Taken(&context, Empty(), &answer));
        return answer.value();
    };
    taken();
    const auto send = [&](const std::vector<Entry>& entries) {
        grpc::ClientContext context;
#ifdef LAB_COMPRESS
        context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
#endif
        Empty answer;
        expectDone(
            task.isText ? stub->TakeText(&context, text(), &answer)
                        : stub->TakeBibliography(&context, bibliography(entries), &answer));
    };
    task.measure(send, taken);
}
