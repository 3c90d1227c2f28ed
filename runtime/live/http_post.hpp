#pragma once
// Sends a request for an action to a server.

#include <string>

#include "runtime/base/host/host_port.hpp"
#include "runtime/live/http_answer.hpp"

namespace d9d::live {

// Sends a POST without a body, with `token` as its bearer if there is one. Environment error that
// names `key`: no server answers within seconds.
HttpAnswer post(const HostPort& address, const std::string& path, const std::string& key,
                const std::string& token = {});

}  // namespace d9d::live
