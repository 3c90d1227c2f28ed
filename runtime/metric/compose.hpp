#pragma once
// Joins several metrics into one. Their states follow one another in the order of the metrics'
// names, so that one flat list carries all of them. Results are named `<metric>/<part>`.

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/metric/metric.hpp"

namespace d9d {

class Compose : public Metric {
 public:
  // Adds a metric. Input error: the name is empty or taken, or the metric has counted something already.
  // Every rank has a copy, so its start value would be counted once for each rank.
  void add(std::string name, std::unique_ptr<Metric> metric);
  // Returns the metric that was added under this name. Input error: there is none, or
  // it has another type.
  template <class T>
  T& get(const std::string& name);

  // Returns the state and resets all metrics if get() was called since the last call; else
  // returns an empty list.
  std::vector<double> take_updates();
  // Adds a state that take_updates() of another Compose of the same metrics has returned.
  void merge(std::span<const double> state);

  bool empty() const { return metrics_.empty(); }

  // Called once for each metric that throws in compute() or histograms(); the metric is skipped
  // from then on. Unset: the exception is thrown on.
  using Failed = std::function<void(const std::string& metric, const std::string& what)>;
  void leave_out_failures(Failed failed) { failed_ = std::move(failed); }

  std::vector<ReduceOp> layout() const override;
  std::vector<double> state() const override;
  void load(std::span<const double> state) override;
  MetricValues compute(std::span<const double> state) const override;
  std::vector<NamedHistogram> histograms(std::span<const double> state) const override;
  void reset() override;
  using Metric::compute;

  // Returns the states by name, for a checkpoint.
  nlohmann::json to_json() const;
  // Adds the states of to_json(), of this or another rank, to the current counts, by name. A metric
  // that the JSON lacks stays as it is. Returns the names that were skipped: those that were not
  // added here, and those whose state has another layout now. Input error: the JSON is damaged.
  std::vector<std::string> merge_json(const nlohmann::json& json);

 private:
  struct Declared {
    std::unique_ptr<Metric> metric;
    std::size_t size = 0;  // elements of its state
  };

  Metric& find(const std::string& name) const;
  // Calls use(name, metric, its part of the state). A bug when the state has another size than all of them.
  template <class Use>
  void for_each_part(std::span<const double> state, Use use) const;
  [[noreturn]] static void wrong_type(const std::string& name);

  template <class Use>
  void use_unless_failed(const std::string& name, Use use) const;

  std::map<std::string, Declared> metrics_;
  Failed failed_;
  mutable std::set<std::string> left_out_;  // that have failed
  std::size_t size_ = 0;                    // elements of all states
  bool touched_ = false;                    // get() was called
};

template <class T>
T& Compose::get(const std::string& name) {
  auto* metric = dynamic_cast<T*>(&find(name));
  if (metric == nullptr) wrong_type(name);
  touched_ = true;
  return *metric;
}

}  // namespace d9d
