#pragma once
// Section `optimizer` (reference A.6): how the structs of the optimizers are read.

#include <boost/describe/class.hpp>

#include <array>
#include <optional>
#include <variant>

#include "runtime/base/config/keys.hpp"
#include "runtime/base/config/section.hpp"
#include "runtime/job/section/adamw_8bit_config.hpp"
#include "runtime/job/section/muon_config.hpp"
#include "runtime/job/section/optimizer_keys.hpp"
#include "runtime/train/optimizer/optimizer_options.hpp"

namespace d9d {

BOOST_DESCRIBE_STRUCT(AdamWOptions, (),
                      (lr, betas, eps, weight_decay, amsgrad, maximize, master_weights, rules))
constexpr auto keys_of(config::Tag<AdamWOptions>) {
  using namespace optimizer_keys;
  return std::array{lr, betas, eps, weight_decay, amsgrad, maximize, master_weights, rules};
}

BOOST_DESCRIBE_STRUCT(AdamOptions, (),
                      (lr, betas, eps, weight_decay, decoupled_weight_decay, amsgrad, maximize,
                       master_weights, rules))
constexpr auto keys_of(config::Tag<AdamOptions>) {
  using namespace optimizer_keys;
  return std::array{lr,
                    betas,
                    eps,
                    weight_decay,
                    config::Key{"decoupled_weight_decay", "", "as AdamW does"},
                    amsgrad,
                    maximize,
                    master_weights,
                    rules};
}

BOOST_DESCRIBE_STRUCT(SgdOptions, (),
                      (lr, momentum, dampening, weight_decay, nesterov, maximize, master_weights, rules))
constexpr auto keys_of(config::Tag<SgdOptions>) {
  using namespace optimizer_keys;
  using config::Key;
  return std::array{lr,
                    Key{"momentum", "", "decay rate of the velocity", config::optional, config::at_least(0)},
                    Key{"dampening", "", "share of the gradient kept from the velocity", config::optional,
                        config::at_least(0)},
                    weight_decay,
                    Key{"nesterov", "", "look ahead along the velocity"},
                    maximize,
                    master_weights,
                    rules};
}

BOOST_DESCRIBE_STRUCT(StochasticAdamWOptions, (), (lr, betas, eps, weight_decay, state_dtype, rules))
constexpr auto keys_of(config::Tag<StochasticAdamWOptions>) {
  using namespace optimizer_keys;
  return std::array{
      lr,   betas, eps, weight_decay, config::Key{"state_dtype", "", "type of the moments", config::required},
      rules};
}

using OptimizerConfig = std::variant<AdamWOptions, AdamOptions, SgdOptions, StochasticAdamWOptions,
                                     MuonOptions, AdamW8BitOptions, config::Named>;
constexpr auto choices_of(config::Tag<OptimizerConfig>) {
  return config::Choices<6>{
      "name",
      {{{"adamw", "Adam with decoupled weight decay (Loshchilov, Hutter 2019)."},
        {"adam", "Adam (Kingma, Ba 2015)."},
        {"sgd", "Stochastic gradient descent with momentum."},
        {"stochastic_adamw", "AdamW on bfloat16 parameters with stochastic rounding."},
        {"muon",
         "Orthogonalised momentum for weights that are matrices, experts one by one; AdamW for all others "
         "(Jordan and others 2024)."},
        {"adamw_8bit",
         "AdamW whose moments are bytes in blocks with a scale each (Dettmers and others 2022); a quarter of "
         "the "
         "memory for them."}}}};
}

// None where the name is none of ours.
std::optional<OptimizerOptions> known_optimizer(const OptimizerConfig& config);

}  // namespace d9d
