#include "runtime/metric/compose.hpp"

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"

namespace d9d {

void Compose::add(std::string name, std::unique_ptr<Metric> metric) {
  D9D_CHECK(metric != nullptr, "no metric given for \"{}\"", name);
  D9D_REQUIRE(!metrics_.contains(name), "there are two metrics named \"{}\"; give each its own name", name);
  metrics_.emplace(std::move(name), std::move(metric));
}

void Compose::wrong_type(const std::string& name) {
  throw Error(
      ErrorKind::input,
      fmt::format("the metric \"{}\" is updated as two different kinds; give each its own name", name));
}

std::string Compose::signature() const {
  std::string text;
  for (const auto& [name, metric] : metrics_) text += fmt::format("{}:{};", name, metric->layout().size());
  return text;
}

std::vector<ReduceOp> Compose::layout() const {
  std::vector<ReduceOp> all;
  for (const auto& [name, metric] : metrics_) {
    const auto part = metric->layout();
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

std::vector<double> Compose::state() const {
  std::vector<double> all;
  for (const auto& [name, metric] : metrics_) {
    const auto part = metric->state();
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

void Compose::load(std::span<const double> state) {
  D9D_CHECK(state.size() == layout().size(), "a state of {} elements for a layout of {}", state.size(),
            layout().size());
  for (const auto& [name, metric] : metrics_) {
    const std::size_t size = metric->layout().size();
    metric->load(state.first(size));
    state = state.subspan(size);
  }
}

MetricValues Compose::compute(std::span<const double> state) const {
  D9D_CHECK(state.size() == layout().size(), "a state of {} elements for a layout of {}", state.size(),
            layout().size());
  MetricValues values;
  for (const auto& [name, metric] : metrics_) {
    const std::size_t size = metric->layout().size();
    for (auto& [part, value] : metric->compute(state.first(size))) {
      values.emplace_back(part.empty() ? name : fmt::format("{}/{}", name, part), value);
    }
    state = state.subspan(size);
  }
  return values;
}

void Compose::reset() {
  for (const auto& [name, metric] : metrics_) metric->reset();
}

nlohmann::json Compose::to_json() const {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, metric] : metrics_) json[name] = state_to_json(metric->state());
  return json;
}

void Compose::load_json(const nlohmann::json& json) {
  D9D_REQUIRE(json.is_object(), "the state of the metrics is a {}; expected an object by name",
              json.type_name());
  for (const auto& [name, state] : json.items()) {
    D9D_REQUIRE(metrics_.contains(name), "the checkpoint has a metric \"{}\" that this job does not have",
                name);
  }
  for (const auto& [name, metric] : metrics_) {
    D9D_REQUIRE(json.contains(name), "the checkpoint has no state of the metric \"{}\"", name);
    metric->load(state_from_json(json.at(name), metric->layout().size()));
  }
}

}  // namespace d9d
