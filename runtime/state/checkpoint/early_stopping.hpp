#pragma once
// When a job ends because its evaluations get no better: after so many of them in a row that do not better the best one
// by more than `min_delta`. An evaluation without a number is no better than any. No torch.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace d9d {

struct EarlyStoppingOptions {
  std::uint64_t stop_after = 1;
  double min_delta = 0;
  bool higher_is_better = false;
};

class EarlyStopping {
 public:
  explicit EarlyStopping(EarlyStoppingOptions options) : options_(options) {}

  // The evaluation after `step`. True: the job ends with it.
  bool add(std::uint64_t step, std::optional<double> value);
  // Of the last add() that gave true.
  std::string why(const std::string& metric) const;

  // For a checkpoint, and from one: the count goes on.
  nlohmann::json state() const;
  void load_state(const nlohmann::json& state);

 private:
  EarlyStoppingOptions options_;
  std::optional<double> best_;
  std::uint64_t best_step_ = 0;
  std::uint64_t worse_ = 0;  // evaluations since the best one
};

}  // namespace d9d
