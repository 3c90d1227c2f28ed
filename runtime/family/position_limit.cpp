#include "runtime/family/position_limit.hpp"

#include <algorithm>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"

namespace d9d {
namespace {

std::int64_t stretched(std::int64_t length, double factor) {
  constexpr double most = 1e15;  // a factor from a file may be anything
  return static_cast<std::int64_t>(std::min(most, static_cast<double>(length) * std::max(factor, 1.0)));
}

}  // namespace

std::int64_t position_limit(const FamilyModel& config) {
  const RopeOptions& rope = config.rope;
  const std::int64_t given = config.max_position_embeddings;
  switch (rope.type) {
    case RopeOptions::Type::plain:
      return given;
    case RopeOptions::Type::ntk:
    case RopeOptions::Type::dynamic:
    case RopeOptions::Type::linear:
      return stretched(given, rope.factor);
    case RopeOptions::Type::yarn:
    case RopeOptions::Type::llama3:
    case RopeOptions::Type::longrope:
      return std::max(given, stretched(rope.original_max_position_embeddings, rope.factor));
  }
  D9D_CHECK(false, "no kind {} of rotary embedding", static_cast<int>(rope.type));
}

void require_positions(const FamilyModel& config, std::int64_t length, const char* what, const char* remedy) {
  const std::int64_t limit = position_limit(config);
  D9D_REQUIRE(length <= limit,
              "{} has {}, but the model has positions for {} (max_position_embeddings and RoPE scaling); {}",
              what, counted(length, "token"), limit, remedy);
}

}  // namespace d9d
