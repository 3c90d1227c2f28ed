#pragma once
// Section `debug` of the job file.

#include <boost/describe/class.hpp>

#include <array>

#include "runtime/base/config/keys.hpp"

namespace d9d {

struct DebugConfig {
  bool check_collectives = false;
};
BOOST_DESCRIBE_STRUCT(DebugConfig, (), (check_collectives))
constexpr auto keys_of(config::Tag<DebugConfig>) {
  return std::array{
      config::Key{
          "check_collectives", "",
          "compare operation, shape and dtype of every collective across its ranks before it runs; the "
          "first mismatch ends the job and names the ranks, actors and steps"},
  };
}

}  // namespace d9d
