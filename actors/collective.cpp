#include "actors/collective.hpp"

#include "actors/notes/reduce_operation.hpp"
#include "messages/lists.hpp"
#include "runtime/base/error.hpp"

namespace d9d {

Collective::Collective(World& world, Options options) : Actor(world), options_(std::move(options)) {}

void Collective::behavior(Handlers& handlers) {
  handlers.on(this, &Collective::reduce_bucket);
  handlers.on(this, &Collective::reduce_values);
  handlers.on(this, &Collective::sleep);
  handlers.on(this, &Collective::wake);
}

void Collective::started() {
  set_rank(rank_of(self()));
  const std::int64_t begin = world().clock.now_ns();
  options_.worker->prepare();
  if (world().recorder != nullptr) track_ = world().recorder->actor(options_.worker->name(), rank_of(self()));
  tell<wire::Ready>(parent(), [&](wire::Ready::Builder ready) {
    ready.setRank(rank_of(self()));
    ready.setSeconds(1e-9 * static_cast<double>(world().clock.now_ns() - begin));
  });
}

void Collective::reduce_bucket(wire::ReduceBucket::Reader message) {
  set_step(message.getStep());
  const int bucket = static_cast<int>(message.getBucket());
  double norm_share = 0;
  {
    const Work work(*this, {.bytes = options_.worker->bucket_bytes(bucket),
                            .actor = track_,
                            .name = trace_name(options_.worker->reduction()),
                            .step = static_cast<std::int32_t>(step()),
                            .category = trace::Category::collective});
    norm_share = options_.worker->reduce_bucket(bucket);
  }
  tell<wire::BucketReduced>(sender(), [&](wire::BucketReduced::Builder reduced) {
    reduced.setStep(step());
    reduced.setBucket(message.getBucket());
    reduced.setNormShare(norm_share);
  });
}

void Collective::reduce_values(wire::ReduceValues::Reader message) {
  std::vector<double> values = to_vector<double>(message.getValues());
  const bool fresh = message.getOrder() >= next_order_ && !waiting_.contains(message.getOrder());
  D9D_CHECK(fresh, "reduction {} was asked for twice", message.getOrder());
  set_step(message.getStep());
  waiting_[message.getOrder()] = {sender(), std::move(values),
                                  reduce_operations.from_wire(message.getOperation()), message.getStep()};
  reduce_values_in_order();
}

void Collective::sleep(wire::Sleep::Reader message) {
  D9D_CHECK(waiting_.empty(), "a group is closed while reduction {} is asked for", waiting_.begin()->first);
  options_.worker->close();
  tell<wire::Slept>(sender(), [&](wire::Slept::Builder slept) { slept.setStep(message.getStep()); });
}

void Collective::wake(wire::Wake::Reader message) {
  options_.worker->prepare();
  tell<wire::Awake>(sender(), [&](wire::Awake::Builder awake) { awake.setStep(message.getStep()); });
}

void Collective::reduce_values_in_order() {
  for (auto head = waiting_.find(next_order_); head != waiting_.end(); head = waiting_.find(next_order_)) {
    Values request = std::move(head->second);
    waiting_.erase(head);
    {
      const Work work(*this, {.bytes = request.values.size() * sizeof(double),
                              .actor = track_,
                              .name = trace_name("all_reduce_values"),
                              .step = trace::step_of_span(request.step),
                              .category = trace::Category::collective});
      options_.worker->reduce_values(request.values, request.operation);
    }
    tell<wire::ValuesReduced>(request.asker, [&](wire::ValuesReduced::Builder reduced) {
      reduced.setOrder(next_order_);
      reduced.setStep(request.step);
      fill_list(reduced.initValues(static_cast<unsigned>(request.values.size())), request.values);
    });
    ++next_order_;
  }
}

}  // namespace d9d
