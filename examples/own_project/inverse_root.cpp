// The learning rate of the first transformer (Vaswani and others 2017, section 5.3): it grows in a line for the
// steps of the warm-up, then falls with the root of the step. Its largest value is the optimizer's `lr`.
#include <algorithm>
#include <cmath>

#include "mine.hpp"
#include "runtime/base/error.hpp"
#include "runtime/train/lr_schedule.hpp"

namespace mine {
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

std::shared_ptr<const d9d::LrSchedule> make_inverse_root(const InverseRootConfig& config) {
  return std::make_shared<InverseRoot>(config);
}

}  // namespace mine
