#include "actors/metric_collector.hpp"

#include "actors/reduce_operation.hpp"

#include <nlohmann/json.hpp>

#include "messages/lists.hpp"
#include "runtime/base/error.hpp"
#include "runtime/metric/aggregation.hpp"

namespace d9d {

MetricCollector::MetricCollector(World& world, MetricCollectorOptions options)
    : Actor(world), options_(std::move(options)) {
  set_rank(options_.rank);
}

void MetricCollector::behavior(Handlers& handlers) {
  handlers.on(this, &MetricCollector::metric_update);
  handlers.on(this, &MetricCollector::collect_metrics);
  handlers.on(this, &MetricCollector::values_reduced);
  handlers.on(this, &MetricCollector::save_metrics);
}

void MetricCollector::started() {
  options_.create(metrics_);
  layout_ = metrics_.layout();
  if (!options_.state.empty()) metrics_.load_json(nlohmann::json::parse(options_.state));
}

void MetricCollector::metric_update(wire::MetricUpdate::Reader message) {
  for (const auto value : message.getValues()) {
    const std::string name = value.getName();
    if (value.getKind() == wire::MetricUpdate::Kind::SUM) {
      metrics_.get<Accumulator>(name, ReduceOp::sum).update(value.getValue());
    } else {
      metrics_.get<WeightedMean>(name).update(value.getValue(), value.getWeight());
    }
  }
  D9D_REQUIRE(metrics_.layout().size() == layout_.size(),
              "the task updates a metric that its create_metrics does not declare; it declares: {}",
              metrics_.signature());
}

void MetricCollector::collect_metrics(wire::CollectMetrics::Reader message) {
  if (layout_.empty()) return report(message.getStep(), {});
  collections_.push_back({message.getStep(), pack_state(layout_, metrics_.state())});
  metrics_.reset();
  if (collections_.size() == 1) reduce(collections_.front().packed.sums, false);
}

void MetricCollector::reduce(const std::vector<double>& values, bool maxima) {
  tell<wire::ReduceValues>(options_.collective, [&](wire::ReduceValues::Builder message) {
    message.setOrder(next_order_++);
    message.setStep(collections_.front().step);
    message.setOperation(kReduceOperations.to_wire(maxima ? ReduceOp::max : ReduceOp::sum));
    fill_list(message.initValues(static_cast<unsigned>(values.size())), values);
  });
}

void MetricCollector::values_reduced(wire::ValuesReduced::Reader message) {
  PackedState& packed = collections_.front().packed;
  const bool were_sums = message.getOrder() % 2 == 0;
  (were_sums ? packed.sums : packed.maxima) = to_vector<double>(message.getValues());
  // Both reductions run even when one list is empty, so that the order of requests is the same everywhere.
  if (were_sums) return reduce(packed.maxima, true);
  finish_collection();
}

void MetricCollector::finish_collection() {
  const Collection done = std::move(collections_.front());
  collections_.erase(collections_.begin());
  if (!collections_.empty()) reduce(collections_.front().packed.sums, false);
  if (options_.rank == 0) report(done.step, metrics_.compute(unpack_state(layout_, done.packed)));
}

void MetricCollector::report(std::uint64_t step, const MetricValues& values) {
  if (options_.rank != 0) return;
  tell<wire::MetricValues>({Role::tracker, 0}, [&](wire::MetricValues::Builder message) {
    message.setStep(step);
    auto names = message.initNames(static_cast<unsigned>(values.size()));
    auto numbers = message.initValues(static_cast<unsigned>(values.size()));
    for (unsigned i = 0; i < names.size(); ++i) {
      names.set(i, values[i].first);
      numbers.set(i, values[i].second);
    }
  });
}

void MetricCollector::save_metrics(wire::SaveMetrics::Reader message) {
  const std::string state = metrics_.to_json().dump();
  tell<wire::MetricState>(sender(), [&](wire::MetricState::Builder reply) {
    reply.setStep(message.getStep());
    reply.setState(state);
  });
}

}  // namespace d9d
