#include "runtime/metric/shown/own_names.hpp"

#include <algorithm>
#include <array>

namespace d9d {
namespace {

using namespace std::string_view_literals;

constexpr std::array names{
    "epoch"sv,         "flops_per_second"sv, "grad_norm"sv, "loss"sv,       "lr"sv,
    "measured_peak"sv, "memory_bytes"sv,     "mfu"sv,       "roll_backs"sv, "skipped_steps"sv,
    "step"sv,          "step_seconds"sv,     "time"sv,      "tokens"sv,     "tokens_per_second"sv,
    "tokens_total"sv};
constexpr std::array rooms{"evaluation"sv, "metrics"sv};

}  // namespace

bool is_name_of_the_job(std::string_view name) {
  if (std::find(names.begin(), names.end(), name) != names.end()) return true;
  return std::any_of(rooms.begin(), rooms.end(), [&](std::string_view room) {
    return name.starts_with(room) && (name.size() == room.size() || name[room.size()] == '/');
  });
}

}  // namespace d9d
