#pragma once
// Section `debug` of the job file.

#include <boost/describe/class.hpp>

#include <array>

#include "runtime/base/config/keys.hpp"

namespace d9d {

struct DebugConfig {
  bool check_collectives = false;
  bool synchronous_device = false;
};
BOOST_DESCRIBE_STRUCT(DebugConfig, (), (check_collectives, synchronous_device))
constexpr auto keys_of(config::Tag<DebugConfig>) {
  return std::array{
      config::Key{
          "check_collectives", "",
          "compare operation, shape and dtype of every collective across its ranks before it runs; the "
          "first mismatch ends the job and names the ranks, actors and steps"},
      config::Key{
          "synchronous_device", "",
          "wait for the device after every action, so that an error of late work names the action that "
          "gave it; slow. On the CPU nothing is late"},
  };
}

}  // namespace d9d
