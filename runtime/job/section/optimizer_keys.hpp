#pragma once
// Keys that the optimizers of section `optimizer` share.

#include <boost/describe/class.hpp>

#include <array>

#include "runtime/base/config/keys.hpp"
#include "runtime/train/optimizer/optimizer_options.hpp"

namespace d9d {

BOOST_DESCRIBE_STRUCT(ParameterRule, (), (match, weight_decay, lr_multiplier, betas))
constexpr auto keys_of(config::Tag<ParameterRule>) {
  using namespace config;
  return std::array{
      Key{"match", "",
          "names of parameters, as in `model.norm.weight`; `*` is any part of a name, `?` a letter. "
          "norms_and_biases: all of these",
          required},
      Key{"weight_decay", "", "of these parameters; null: the optimizer's", config::optional, at_least(0)},
      Key{"lr_multiplier", "", "times the learning rate", config::optional, at_least(0)},
      Key{"betas", "", "of these parameters; null: the optimizer's", config::optional, below_one()}};
}

namespace optimizer_keys {
inline constexpr config::Key lr{"lr", "", "learning rate at multiplier 1", config::required,
                                config::above(0)};
inline constexpr config::Key betas{"betas", "", "decay rates of the first and second moment",
                                   config::optional, config::below_one()};
inline constexpr config::Key eps{"eps", "", "added to the root of the second moment", config::optional,
                                 config::above(0)};
inline constexpr config::Key weight_decay{"weight_decay", "",
                                          "weight decay, times the learning rate where decoupled",
                                          config::optional, config::at_least(0)};
inline constexpr config::Key maximize{"maximize", "", "climb instead of descend"};
inline constexpr config::Key amsgrad{"amsgrad", "", "use the largest second moment so far"};
inline constexpr config::Key master_weights{"master_weights", "",
                                            "bfloat16 parameters are kept in float32 besides and updated "
                                            "there, 4 bytes more for each; false: updates are "
                                            "rounded to bfloat16, and small ones are lost"};
inline constexpr config::Key rules{
    "rules", "",
    "weight decay, learning rate and betas of single parameters; the first rule that "
    "matches a parameter's name counts"};
}  // namespace optimizer_keys

}  // namespace d9d
