#include "runtime/base/version.hpp"

#include "d9d_headers_id.h"
#include "d9d_source_id.h"

namespace d9d {

std::string version() {
  return D9D_VERSION;
}

std::string build_id() {
  return D9D_VERSION "-" D9D_SOURCE_HASH;
}

std::string headers_id() {
  return D9D_HEADERS_ID;
}

}  // namespace d9d
