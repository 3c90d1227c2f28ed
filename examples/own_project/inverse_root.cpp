// The learning rate of the first transformer (Vaswani and others 2017, section 5.3): it grows in a line for the
// steps of the warm-up, then falls with the root of the step. Its largest value is the optimizer's `lr`.
#include <boost/describe/class.hpp>

#include <algorithm>
#include <cmath>

#include "mine.hpp"
#include "runtime/base/config/decode.hpp"
#include "runtime/base/config/keys.hpp"
#include "runtime/base/error.hpp"
#include "runtime/task/registry.hpp"
#include "runtime/train/lr_schedule.hpp"

namespace mine {

struct InverseRootConfig {
  std::int64_t warmup = 0;
};
BOOST_DESCRIBE_STRUCT(InverseRootConfig, (), (warmup))
constexpr auto keys_of(d9d::config::Tag<InverseRootConfig>) {
  using namespace d9d::config;
  return std::array{Key{"warmup", "steps", "steps until the largest learning rate", required, at_least(1)}};
}

namespace {

class InverseRoot final : public d9d::LrSchedule {
 public:
  explicit InverseRoot(const InverseRootConfig& config) : config_(config) {}

  std::function<double(std::int64_t)> over(std::int64_t total_steps) const override {
    D9D_REQUIRE(config_.warmup <= total_steps,
                "lr_scheduler.warmup: {} steps, but the job has only {}; give fewer", config_.warmup,
                total_steps);
    return [warmup = static_cast<double>(config_.warmup)](std::int64_t step) {
      const auto number = static_cast<double>(step + 1);
      return std::min(number / warmup, std::sqrt(warmup / number));
    };
  }

 private:
  const InverseRootConfig config_;
};

}  // namespace

void add_inverse_root(d9d::Registry& registry) {
  registry.add_lr_schedule("inverse_root", [](const d9d::config::Section& section) {
    return std::make_shared<InverseRoot>(d9d::config::decode<InverseRootConfig>(section));
  });
}

}  // namespace mine
