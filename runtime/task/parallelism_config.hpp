#pragma once
// Section `parallelism` of the job file: how ParallelOptions is read.

#include <boost/describe/class.hpp>

#include <array>

#include "runtime/base/config/keys.hpp"
#include "runtime/nn/parallel/parallel_options.hpp"

namespace d9d {

BOOST_DESCRIBE_STRUCT(ParallelOptions, (), ())
constexpr auto keys_of(config::Tag<ParallelOptions>) {
  return std::array<config::Key, 0>{};
}

}  // namespace d9d
