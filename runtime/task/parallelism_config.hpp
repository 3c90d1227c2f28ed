#pragma once
// Section `parallelism` of the job file: how ParallelOptions is read.

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include <array>

#include "runtime/base/config/keys.hpp"
#include "runtime/nn/parallel/parallel_options.hpp"

namespace d9d {

BOOST_DESCRIBE_ENUM(TokenOrder, zigzag, contiguous)
BOOST_DESCRIBE_ENUM(ContextAttention, ring, ulysses)
BOOST_DESCRIBE_STRUCT(ContextOptions, (), (attention, order))
constexpr auto keys_of(config::Tag<ContextOptions>) {
  using config::Key;
  return std::array{
      Key{"attention", "",
          "keys and values go round from rank to rank, or heads and tokens change places before and after "
          "attention (attention heads must be divisible)"},
      Key{"order", "",
          "which tokens of a sequence a rank has: two chunks, as far from the middle as each other (equal "
          "work under a causal mask), or one"},
  };
}

BOOST_DESCRIBE_STRUCT(ParallelOptions, (), (context))
constexpr auto keys_of(config::Tag<ParallelOptions>) {
  return std::array{
      config::Key{"context", "", "how ranks share a sequence (context_parallel_shard and _replicate)"},
  };
}

}  // namespace d9d
