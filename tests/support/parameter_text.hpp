#pragma once
// How the parameters of tests print: ctest names tests by them.

#include <ostream>

#include "runtime/family/qwen3/config.hpp"
#include "runtime/nn/plan/parallel_options.hpp"

namespace d9d {

inline void PrintTo(Qwen3Kind kind, std::ostream* out) {
  *out << (kind == Qwen3Kind::moe ? "moe" : "dense");
}
inline void PrintTo(ContextAttention attention, std::ostream* out) {
  *out << (attention == ContextAttention::ring ? "ring" : "ulysses");
}
inline void PrintTo(TokenOrder order, std::ostream* out) {
  *out << (order == TokenOrder::zigzag ? "zigzag" : "contiguous");
}

}  // namespace d9d
