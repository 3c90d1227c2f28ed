#include "runtime/text/token_choice.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "runtime/base/error.hpp"
#include "runtime/base/rng.hpp"

namespace d9d {
namespace {

using Ids = std::vector<std::int64_t>;

struct MoreLikely {
  std::span<const float> logits;
  bool operator()(std::int64_t a, std::int64_t b) const {
    const float left = logits[static_cast<std::size_t>(a)], right = logits[static_cast<std::size_t>(b)];
    return left != right ? left > right : a < b;
  }
};

// exp of the scaled logits, 1 for the largest.
class Weights {
 public:
  Weights(std::span<const float> logits, double temperature)
      : logits_(logits),
        largest_(*std::max_element(logits.begin(), logits.end())),
        temperature_(temperature) {}
  double scaled(std::int64_t id) const {
    return (static_cast<double>(logits_[static_cast<std::size_t>(id)]) - largest_) / temperature_;
  }
  double of(std::int64_t id) const { return std::exp(scaled(id)); }
  double sum(const Ids& ids) const {
    return std::accumulate(ids.begin(), ids.end(), 0.0,
                           [this](double total, std::int64_t id) { return total + of(id); });
  }

 private:
  std::span<const float> logits_;
  double largest_, temperature_;
};

// The first of `ids` in the order of likelihood that have a share top_p of the weight. Few of many have it
// mostly, so that a part is sorted, twice as large until it is enough.
void keep_nucleus(Ids& ids, const MoreLikely& order, const Weights& weights, double top_p) {
  const double wanted = top_p * weights.sum(ids);
  double kept = 0;
  std::size_t sorted = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i == sorted) {
      sorted = std::min(ids.size(), std::max<std::size_t>(64, 2 * sorted));
      std::partial_sort(ids.begin() + static_cast<std::ptrdiff_t>(i),
                        ids.begin() + static_cast<std::ptrdiff_t>(sorted), ids.end(), order);
    }
    kept += weights.of(ids[i]);
    if (kept < wanted) continue;
    ids.resize(i + 1);
    return;
  }
}

}  // namespace

void require_possible(const TokenChoice& choice) {
  D9D_REQUIRE(choice.temperature >= 0 && choice.top_k >= 0,
              "temperature is {} and top_k {}; both are 0 or more", choice.temperature, choice.top_k);
  D9D_REQUIRE(choice.top_p > 0 && choice.top_p <= 1, "top_p is {}; it is above 0 and at most 1",
              choice.top_p);
  D9D_REQUIRE(choice.repetition_penalty > 0, "repetition_penalty is {}; it is above 0, and 1 is none",
              choice.repetition_penalty);
}

void penalise(std::span<float> logits, std::span<const std::int64_t> prompt,
              std::span<const std::int64_t> made, double penalty) {
  const auto by = static_cast<float>(penalty);
  std::vector<bool> seen(logits.size());
  for (const auto& ids : {prompt, made}) {
    for (const std::int64_t id : ids) {
      D9D_CHECK(id >= 0 && static_cast<std::size_t>(id) < logits.size(), "token {} of {} logits", id,
                logits.size());
      const auto at = static_cast<std::size_t>(id);
      if (seen[at]) continue;
      seen[at] = true;
      logits[at] = logits[at] < 0 ? logits[at] * by : logits[at] / by;
    }
  }
}

double uniform_of(const TokenChoice& choice, std::uint64_t sample, std::uint64_t position) {
  return RandomStream(choice.seed, "generate", sample).uniform(position);
}

std::int64_t choose_token(std::span<const float> logits, const TokenChoice& choice, double uniform) {
  if (choice.temperature == 0) return std::max_element(logits.begin(), logits.end()) - logits.begin();
  const Weights weights(logits, choice.temperature);
  const MoreLikely order{logits};
  Ids ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  if (choice.top_k > 0 && static_cast<std::size_t>(choice.top_k) < ids.size()) {
    std::nth_element(ids.begin(), ids.begin() + choice.top_k, ids.end(), order);
    ids.resize(static_cast<std::size_t>(choice.top_k));
  }
  if (choice.top_p < 1) keep_nucleus(ids, order, weights, choice.top_p);
  std::sort(ids.begin(), ids.end());
  double left = uniform * weights.sum(ids);
  for (const std::int64_t id : ids) {
    left -= weights.of(id);
    if (left < 0) return id;
  }
  return ids.back();
}

float log_prob_of(std::span<const float> logits, std::int64_t token, double temperature) {
  const Weights weights(logits, temperature > 0 ? temperature : 1);
  double sum = 0;
  for (std::int64_t id = 0; id < std::ssize(logits); ++id) sum += weights.of(id);
  return static_cast<float>(weights.scaled(token) - std::log(sum));
}

}  // namespace d9d
