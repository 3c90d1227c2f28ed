#include "runtime/metric/compose.hpp"

#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/base/error.hpp"
#include "runtime/metric/state_json.hpp"

namespace d9d {
namespace {

// A metric of a plugin may break its promise.
std::vector<double> state_of(const std::string& name, const Metric& metric, std::size_t size) {
  std::vector<double> state = metric.state();
  D9D_REQUIRE(state.size() == size,
              "the metric \"{}\" gives a state of {} elements and a layout of {}; expected as many", name,
              state.size(), size);
  return state;
}

std::string joined_name(const std::string& metric, const std::string& part) {
  return part.empty() ? metric : fmt::format("{}/{}", metric, part);
}

}  // namespace

void Compose::add(std::string name, std::unique_ptr<Metric> metric) {
  D9D_CHECK(metric != nullptr, "no metric given for \"{}\"", name);
  D9D_REQUIRE(!name.empty(), "a metric is added under an empty name; nothing could show its values");
  D9D_REQUIRE(!metrics_.contains(name), "there are two metrics named \"{}\"; give each its own name", name);
  const auto layout = metric->layout();
  const auto state = state_of(name, *metric, layout.size());
  for (std::size_t i = 0; i < state.size(); ++i) {
    D9D_REQUIRE(
        state[i] == neutral(layout[i]),
        "the metric \"{}\" starts with {} in element {}; expected {}: every rank adds what it starts with",
        name, state[i], i, neutral(layout[i]));
  }
  size_ += layout.size();
  metrics_.emplace(std::move(name), Declared{std::move(metric), layout.size()});
}

Metric& Compose::find(const std::string& name) const {
  const auto found = metrics_.find(name);
  if (found != metrics_.end()) return *found->second.metric;
  std::string declared;
  for (const auto& [other, ignored] : metrics_) declared += (declared.empty() ? "" : ", ") + other;
  throw Error(ErrorKind::input,
              fmt::format("there is no metric \"{}\"; the task's create_metrics declares: {}", name,
                          declared.empty() ? "none" : declared));
}

void Compose::wrong_type(const std::string& name) {
  throw Error(ErrorKind::input,
              fmt::format("the metric \"{}\" is asked for as another type than it was declared with", name));
}

std::vector<ReduceOp> Compose::layout() const {
  std::vector<ReduceOp> all;
  all.reserve(size_);
  for (const auto& [name, declared] : metrics_) {
    const auto part = declared.metric->layout();
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

std::vector<double> Compose::state() const {
  std::vector<double> all;
  all.reserve(size_);
  for (const auto& [name, declared] : metrics_) {
    const auto part = state_of(name, *declared.metric, declared.size);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

template <class Use>
void Compose::for_each_part(std::span<const double> state, Use use) const {
  D9D_CHECK(state.size() == size_, "a state of {} elements for a layout of {}", state.size(), size_);
  for (const auto& [name, declared] : metrics_) {
    use(name, *declared.metric, state.first(declared.size));
    state = state.subspan(declared.size);
  }
}

template <class Use>
void Compose::use_unless_failed(const std::string& name, Use use) const {
  if (!failed_) return use();
  if (left_out_.contains(name)) return;
  try {
    use();
  } catch (...) {
    left_out_.insert(name);
    failed_(name, describe_current_exception().what);
  }
}

void Compose::load(std::span<const double> state) {
  for_each_part(state, [](const std::string&, Metric& metric, auto part) { metric.load(part); });
}

MetricValues Compose::compute(std::span<const double> state) const {
  MetricValues values;
  for_each_part(state, [&](const std::string& name, const Metric& metric, auto part) {
    use_unless_failed(name, [&] {
      for (auto& [result, value] : metric.compute(part))
        values.emplace_back(joined_name(name, result), value);
    });
  });
  return values;
}

std::vector<NamedHistogram> Compose::histograms(std::span<const double> state) const {
  std::vector<NamedHistogram> all;
  for_each_part(state, [&](const std::string& name, const Metric& metric, auto part) {
    use_unless_failed(name, [&] {
      for (NamedHistogram& histogram : metric.histograms(part)) {
        histogram.name = joined_name(name, histogram.name);
        all.push_back(std::move(histogram));
      }
    });
  });
  return all;
}

void Compose::reset() {
  for (const auto& [name, declared] : metrics_) declared.metric->reset();
}

std::vector<double> Compose::take_updates() {
  if (!std::exchange(touched_, false)) return {};
  std::vector<double> updates = state();
  reset();
  return updates;
}

void Compose::merge(std::span<const double> state) {
  if (state.empty()) return;
  std::vector<double> joined = this->state();
  combine_states(layout(), joined, state);
  load(joined);
}

nlohmann::json Compose::to_json() const {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, declared] : metrics_) {
    const auto layout = declared.metric->layout();
    json[name] = state_to_json(layout, state_of(name, *declared.metric, layout.size()));
  }
  return json;
}

std::vector<std::string> Compose::merge_json(const nlohmann::json& json) {
  D9D_REQUIRE(json.is_object(), "the state of the metrics is a {}; expected an object by name",
              json.type_name());
  std::vector<std::string> left_out;
  for (const auto& [name, saved] : json.items()) {
    const auto found = metrics_.find(name);
    const auto layout = found == metrics_.end() ? std::vector<ReduceOp>() : found->second.metric->layout();
    const auto state =
        found == metrics_.end() ? std::nullopt : state_from_json(saved, layout, "metric \"" + name + "\"");
    if (!state) {
      left_out.push_back(name);
      continue;
    }
    std::vector<double> joined = found->second.metric->state();
    combine_states(layout, joined, *state);
    found->second.metric->load(joined);
  }
  return left_out;
}

}  // namespace d9d
