#pragma once
// Several metrics as one: their states lie one after the other in the order of their names, so that one flat
// buffer carries all of them. Results are named `<metric>/<part>`.

#include <map>
#include <memory>

#include "runtime/metric/metric.hpp"

namespace d9d {

class Compose : public Metric {
 public:
  // A name twice is an input error.
  void add(std::string name, std::unique_ptr<Metric> metric);
  // The metric of this name and type, made on first use; an input error when the name has another type.
  template <class T, class... Args>
  T& get(const std::string& name, Args&&... args);

  bool empty() const { return metrics_.empty(); }
  // Names and sizes in order: ranks may reduce only when theirs are equal.
  std::string signature() const;

  std::vector<ReduceOp> layout() const override;
  std::vector<double> state() const override;
  void load(std::span<const double> state) override;
  MetricValues compute(std::span<const double> state) const override;
  void reset() override;
  using Metric::compute;

  // By name. Loading makes no metrics: an input error names what is missing here or there.
  nlohmann::json to_json() const;
  void load_json(const nlohmann::json& json);

 private:
  [[noreturn]] static void wrong_type(const std::string& name);

  std::map<std::string, std::unique_ptr<Metric>> metrics_;
};

template <class T, class... Args>
T& Compose::get(const std::string& name, Args&&... args) {
  auto found = metrics_.find(name);
  if (found == metrics_.end()) {
    found = metrics_.emplace(name, std::make_unique<T>(std::forward<Args>(args)...)).first;
  }
  auto* metric = dynamic_cast<T*>(found->second.get());
  if (metric == nullptr) wrong_type(name);
  return *metric;
}

}  // namespace d9d
