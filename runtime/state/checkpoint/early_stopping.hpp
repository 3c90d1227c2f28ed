#pragma once
// Ends a job when a number of evaluations in a row do not improve on the best one by more than
// `min_delta`. A value that is not a number never improves. No torch.

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

  // Adds the evaluation after `step`. Returns true if the job must end with it.
  bool add(std::uint64_t step, std::optional<double> value);
  // Says why, for the last add() that returned true.
  std::string why(const std::string& metric) const;

  // The count for a checkpoint, so that it continues after a resume.
  nlohmann::json state() const;
  void load_state(const nlohmann::json& state);

 private:
  EarlyStoppingOptions options_;
  std::optional<double> best_;
  std::uint64_t best_step_ = 0;
  std::uint64_t worse_ = 0;  // evaluations since the best one
};

}  // namespace d9d
