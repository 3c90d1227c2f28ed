#pragma once
// Section `optimizer` (reference A.6).

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include <array>
#include <variant>

#include "runtime/base/config/keys.hpp"
#include "runtime/base/config/section.hpp"

namespace d9d {

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
}  // namespace optimizer_keys

struct AdamWConfig {
  double lr = 0;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.01;
  bool amsgrad = false;
  bool maximize = false;
};
BOOST_DESCRIBE_STRUCT(AdamWConfig, (), (lr, betas, eps, weight_decay, amsgrad, maximize))
constexpr auto keys_of(config::Tag<AdamWConfig>) {
  using namespace optimizer_keys;
  return std::array{lr, betas, eps, weight_decay, amsgrad, maximize};
}

struct AdamConfig {
  double lr = 0;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.01;
  bool decoupled_weight_decay = false;
  bool amsgrad = false;
  bool maximize = false;
};
BOOST_DESCRIBE_STRUCT(AdamConfig, (),
                      (lr, betas, eps, weight_decay, decoupled_weight_decay, amsgrad, maximize))
constexpr auto keys_of(config::Tag<AdamConfig>) {
  using namespace optimizer_keys;
  return std::array{
      lr,      betas,   eps, weight_decay, config::Key{"decoupled_weight_decay", "", "as AdamW does"},
      amsgrad, maximize};
}

struct SgdConfig {
  double lr = 0;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool maximize = false;
};
BOOST_DESCRIBE_STRUCT(SgdConfig, (), (lr, momentum, dampening, weight_decay, nesterov, maximize))
constexpr auto keys_of(config::Tag<SgdConfig>) {
  using namespace optimizer_keys;
  using config::Key;
  return std::array{lr,
                    Key{"momentum", "", "decay rate of the velocity", config::optional, config::at_least(0)},
                    Key{"dampening", "", "share of the gradient kept from the velocity", config::optional,
                        config::at_least(0)},
                    weight_decay,
                    Key{"nesterov", "", "look ahead along the velocity"},
                    maximize};
}

enum class OptimizerStateDtype { float32, bfloat16 };
BOOST_DESCRIBE_ENUM(OptimizerStateDtype, float32, bfloat16)

struct StochasticAdamWConfig {
  double lr = 0;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.01;
  OptimizerStateDtype state_dtype = OptimizerStateDtype::float32;
};
BOOST_DESCRIBE_STRUCT(StochasticAdamWConfig, (), (lr, betas, eps, weight_decay, state_dtype))
constexpr auto keys_of(config::Tag<StochasticAdamWConfig>) {
  using namespace optimizer_keys;
  return std::array{lr, betas, eps, weight_decay,
                    config::Key{"state_dtype", "", "type of the moments", config::required}};
}

using OptimizerConfig =
    std::variant<AdamWConfig, AdamConfig, SgdConfig, StochasticAdamWConfig, config::Named>;
constexpr auto choices_of(config::Tag<OptimizerConfig>) {
  return config::Choices<4>{
      "name",
      {{{"adamw", "Adam with decoupled weight decay (Loshchilov, Hutter 2019)."},
        {"adam", "Adam (Kingma, Ba 2015)."},
        {"sgd", "Stochastic gradient descent with momentum."},
        {"stochastic_adamw", "AdamW on bfloat16 parameters with stochastic rounding."}}}};
}

}  // namespace d9d
