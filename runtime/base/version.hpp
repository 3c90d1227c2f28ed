#pragma once
// Which d9d this is. Nodes of one job must be the same build.

#include <string>

namespace d9d {

std::string version();   // "0.1.0"
std::string build_id();  // version and a hash of the sources it was built from
// Version and a hash of the headers and schemas. A plugin must be built against the same ones.
std::string headers_id();
}  // namespace d9d
