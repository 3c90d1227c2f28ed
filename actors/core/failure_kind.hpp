#pragma once
// The kind of an error, as `Failed` carries it.

#include "actors/core/wire_pairs.hpp"
#include "messages/common.capnp.h"

namespace d9d {

inline constexpr WirePairs failure_kinds{
    "Failed.kind", std::array{std::pair{ErrorKind::input, wire::Failed::Kind::INPUT},
                              std::pair{ErrorKind::bug, wire::Failed::Kind::BUG},
                              std::pair{ErrorKind::environment, wire::Failed::Kind::ENVIRONMENT}}};

}  // namespace d9d
