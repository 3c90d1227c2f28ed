#include "runtime/nn/size/layer_balance.hpp"

#include <algorithm>
#include <limits>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"

namespace d9d {

namespace {

constexpr double impossible_cost = std::numeric_limits<double>::infinity();

// best[s][l]: the best cost of the first l layers on the first s stages.
using BestTable = std::vector<std::vector<double>>;

class Balance {
 public:
  Balance(const LayerCosts& costs, int num_stages)
      : costs_(costs), stages_(static_cast<std::size_t>(num_stages)), sums_{0} {
    for (const double cost : costs.layers) sums_.push_back(sums_.back() + cost);
  }

  std::vector<LayerRange> ranges() const {
    const BestTable dearest =
        fill([](double before, double stage) { return std::max(before, stage); }, impossible_cost);
    const double limit = dearest[stages_][layers()];
    const auto sum_of_squares = [](double before, double stage) { return before + stage * stage; };
    const BestTable best = fill(sum_of_squares, limit);
    std::vector<LayerRange> ranges(stages_);
    std::size_t end = layers();
    for (std::size_t stage = stages_; stage-- > 0;) {
      std::size_t begin = stage;
      while (cost(stage, begin, end) > limit ||
             sum_of_squares(best[stage][begin], cost(stage, begin, end)) > best[stage + 1][end])
        ++begin;
      ranges[stage] = {static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end)};
      end = begin;
    }
    return ranges;
  }

 private:
  std::size_t layers() const { return costs_.layers.size(); }

  double cost(std::size_t stage, std::size_t begin, std::size_t end) const {
    const double ends = (stage == 0 ? costs_.pre : 0) + (stage + 1 == stages_ ? costs_.post : 0);
    return sums_[end] - sums_[begin] + ends;
  }

  template <class Join>
  BestTable fill(Join join, double limit) const {
    BestTable best(stages_ + 1, std::vector<double>(layers() + 1, impossible_cost));
    best[0][0] = 0;
    for (std::size_t stage = 0; stage < stages_; ++stage) {
      for (std::size_t end = stage + 1; end <= layers(); ++end) {
        for (std::size_t begin = stage; begin < end; ++begin) {
          const double here = cost(stage, begin, end);
          if (here > limit) continue;
          best[stage + 1][end] = std::min(best[stage + 1][end], join(best[stage][begin], here));
        }
      }
    }
    return best;
  }

  const LayerCosts& costs_;
  const std::size_t stages_;
  std::vector<double> sums_;
};

}  // namespace

std::vector<LayerRange> balance_layers(const LayerCosts& costs, int num_stages) {
  D9D_REQUIRE(num_stages > 0 && static_cast<std::size_t>(num_stages) <= costs.layers.size(),
              "{} cannot be split over {}; use fewer stages", counted(costs.layers.size(), "layer"),
              counted(num_stages, "pipeline stage"));
  return Balance(costs, num_stages).ranges();
}

}  // namespace d9d
