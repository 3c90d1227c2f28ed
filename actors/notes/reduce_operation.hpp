#pragma once
// The operation of a reduction, as `ReduceValues` carries it.

#include "actors/core/wire_pairs.hpp"
#include "messages/train.capnp.h"
#include "runtime/comm/reduce_op.hpp"

namespace d9d {

inline constexpr WirePairs reduce_operations{
    "ReduceValues.operation", std::array{std::pair{ReduceOp::sum, wire::ReduceValues::Operation::SUM},
                                         std::pair{ReduceOp::max, wire::ReduceValues::Operation::MAX},
                                         std::pair{ReduceOp::min, wire::ReduceValues::Operation::MIN}}};

}  // namespace d9d
