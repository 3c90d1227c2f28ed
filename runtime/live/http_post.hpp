#pragma once
// Asks a server for an action.

#include <string>

#include "runtime/base/host/host_port.hpp"
#include "runtime/live/http_answer.hpp"

namespace d9d::live {

// Sends a POST without a body, with `token` as its bearer where there is one. Environment error, with the name of `key`,
// where no server answers within seconds.
HttpAnswer post(const HostPort& address, const std::string& path, const std::string& key,
                const std::string& token = {});

}  // namespace d9d::live
