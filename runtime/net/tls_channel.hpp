#pragma once
// The channel under TLS. Only channel.cpp uses this header.

#include "runtime/net/channel.hpp"

namespace d9d::net {

inline constexpr const char* closed_text = "the connection was closed";

std::unique_ptr<Channel> make_tls_channel(Fd socket, const Tls& tls, Side side);

}  // namespace d9d::net
