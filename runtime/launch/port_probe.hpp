#pragma once
// Can this host listen on an address? Found out by binding
// a socket and closing it again; no connection is accepted.

#include <cstdint>
#include <string>

namespace d9d {

// `key`: who said so, for the error (--listen, node.listen). Input error: the address is none of this host's;
// it lists those there are. Environment error: the port is taken, or may not be used. A name that does not
// resolve is nothing to judge: it may resolve when the job starts.
void require_bindable(const std::string& host, std::uint16_t port, const std::string& key);

}  // namespace d9d
