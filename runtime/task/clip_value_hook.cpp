#include "runtime/task/clip_value_hook.hpp"

#include <boost/describe/class.hpp>

#include <array>

#include "runtime/base/config/decode.hpp"
#include "runtime/train/gradient/gradient_hook.hpp"
#include "runtime/train/optimizer/parameter_rules.hpp"

namespace d9d {

struct ClipValueKeys {
  std::string match = "*";
  double limit = 0;
};
BOOST_DESCRIBE_STRUCT(ClipValueKeys, (), (match, limit))
constexpr auto keys_of(config::Tag<ClipValueKeys>) {
  using namespace config;
  return std::array{Key{"match", "", "names of parameters", optional},
                    Key{"limit", "", "the largest absolute value", required, above(0)}};
}

namespace {

class ClipValueHook final : public GradientHook {
 public:
  explicit ClipValueHook(ClipValueKeys keys) : keys_(std::move(keys)) {}

  HookVerdict gradients_reduced(const GradientContext& context) override {
    for (const NamedGradient& each : context.gradients) {
      if (matches(keys_.match, each.name)) at::Tensor(each.gradient).clamp_(-keys_.limit, keys_.limit);
    }
    return HookVerdict::update;
  }

 private:
  const ClipValueKeys keys_;
};

}  // namespace

std::shared_ptr<GradientHook> make_clip_value_hook(const config::Section& section) {
  return std::make_shared<ClipValueHook>(config::decode<ClipValueKeys>(section));
}

}  // namespace d9d
