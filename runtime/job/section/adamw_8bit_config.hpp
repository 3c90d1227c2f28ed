#pragma once
// Section `optimizer` with name: adamw_8bit.

#include <boost/describe/class.hpp>

#include <array>

#include "runtime/job/section/optimizer_keys.hpp"
#include "runtime/train/optimizer/optimizer_options.hpp"

namespace d9d {

BOOST_DESCRIBE_STRUCT(AdamW8BitOptions, (),
                      (lr, betas, eps, weight_decay, block_size, float32_below, float32_for, master_weights,
                       rules))
constexpr auto keys_of(config::Tag<AdamW8BitOptions>) {
  using namespace optimizer_keys;
  using config::Key;
  return std::array{
      lr,
      betas,
      eps,
      weight_decay,
      Key{"block_size", "elements", "that share a scale, of a rank's part of a parameter", config::optional,
          config::at_least(1)},
      Key{"float32_below", "elements", "parameters of fewer keep float32 moments", config::optional,
          config::at_least(0)},
      Key{"float32_for", "",
          "names of parameters that keep float32 moments, as in `rules`; often those of embeddings"},
      master_weights,
      rules};
}

}  // namespace d9d
