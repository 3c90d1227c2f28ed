#include "actors/rank_executor.hpp"

#include <algorithm>
#include <thread>

#include "actors/led_instruction.hpp"
#include "messages/lists.hpp"
#include "runtime/base/error.hpp"
#include "runtime/trace/scoped_span.hpp"

namespace d9d {

RankExecutor::RankExecutor(World& world, RankExecutorOptions options)
    : Actor(world), options_(std::move(options)) {
  set_rank(options_.rank);
}

void RankExecutor::behavior(Handlers& handlers) {
  handlers.on(this, &RankExecutor::begin_step);
  handlers.on(this, &RankExecutor::activation_ready);
  handlers.on(this, &RankExecutor::gradient_ready);
  handlers.on(this, &RankExecutor::tick);
  handlers.on(this, &RankExecutor::lead_action);
  handlers.on(this, &RankExecutor::bucket_reduced);
  handlers.on(this, &RankExecutor::collect_metrics);
  handlers.on(this, &RankExecutor::apply_step);
  handlers.on(this, &RankExecutor::snapshot);
}

void RankExecutor::started() {
  const std::int64_t begin = world().clock.now_ns();
  worker_ = options_.make_worker();
  trace_communication();
  worker_->prepare();
  worker_->set_on_bucket_complete([this](int bucket) { request_reduction(bucket); });
  bucket_groups_ = worker_->bucket_groups();
  if (world().recorder != nullptr) {
    for (std::size_t s = 0; s < options_.rank_of_stage.size(); ++s) {
      tracks_.push_back(world().recorder->actor("compute stage " + std::to_string(s), options_.rank));
    }
    optimizer_track_ = world().recorder->actor("compute optimizer", options_.rank);
  }
  tell<wire::Ready>(parent(), [&](wire::Ready::Builder ready) {
    ready.setRank(options_.rank);
    ready.setEntries(worker_->entries_loaded());
    ready.setSeconds(seconds_since(begin));
  });
}

void RankExecutor::trace_communication() {
  trace::Recorder* const recorder = world().recorder;
  if (recorder == nullptr) return;
  const auto around = [&](const std::string& track, trace::Category category) -> TraceHook {
    return [this, recorder, actor = recorder->actor(track, options_.rank), category](
               const std::string& name, std::uint64_t bytes, const std::function<void()>& work) {
      const trace::ScopedSpan span(recorder, world().clock,
                                   {.bytes = bytes,
                                    .actor = actor,
                                    .name = recorder->intern(name),
                                    .step = traced_step(),
                                    .category = category});
      work();
    };
  };
  CommTracing tracing{.background = around("communication lane", trace::Category::collective),
                      .stalls = around("compute waits", trace::Category::stall)};
  // On the track of the stage that runs; what a second lane does meanwhile has a track of its own.
  running_track_ = recorder->actor("compute waits", options_.rank);
  tracing.in_compute = [this, recorder, second = recorder->actor("compute lane 1", options_.rank),
                        mine = std::this_thread::get_id()](const std::string& name, std::uint64_t bytes,
                                                           const std::function<void()>& work) {
    const trace::ScopedSpan span(recorder, world().clock,
                                 {.bytes = bytes,
                                  .actor = std::this_thread::get_id() == mine ? running_track_ : second,
                                  .name = recorder->intern(name),
                                  .step = traced_step(),
                                  .category = trace::Category::collective});
    work();
  };
  worker_->set_tracing(std::move(tracing));
}

void RankExecutor::begin_step(wire::BeginStep::Reader message) {
  D9D_CHECK(!in_step_, "step {} begins while step {} is running", message.getStep(), step());
  set_step(message.getStep());
  in_step_ = true;
  reductions_pending_ = 0;
  squared_norm_ = 0;
  compute_seconds_ = 0;
  std::vector<Ticket> microbatches;
  for (const std::uint64_t packed : message.getMicrobatches())
    microbatches.push_back(Ticket::from_packed(packed));
  worker_->begin_step(step(), microbatches);
  for (const Early& early : early_) {
    D9D_CHECK(early.step == step(), "a tensor of step {} waits while step {} begins", early.step, step());
    take(early.tensor);
  }
  early_.clear();
  advance();
}

void RankExecutor::activation_ready(wire::ActivationReady::Reader message) {
  arrived(message, false);
}

void RankExecutor::gradient_ready(wire::GradientReady::Reader message) {
  arrived(message, true);
}

template <class Reader>
void RankExecutor::arrived(Reader message, bool gradient) {
  const StageOutput tensor{gradient, static_cast<int>(message.getStage()),
                           static_cast<int>(message.getMicrobatch()),
                           Ticket::from_packed(message.getTicket())};
  worker_->arrived(gradient, tensor.stage, seconds_since(message.getProducedNs()));
  if (!in_step_ || message.getStep() != step()) {
    early_.push_back({message.getStep(), tensor});
    return;
  }
  take(tensor);
  advance();
}

void RankExecutor::take(const StageOutput& tensor) {
  if (tensor.gradient) {
    worker_->put_gradient(tensor.stage, tensor.microbatch, tensor.ticket);
  } else {
    worker_->put_activation(tensor.stage, tensor.microbatch, tensor.ticket);
  }
}

// The head of the program may have been waited for long enough.
void RankExecutor::tick(wire::Tick::Reader /*message*/) {
  advance();
}

void RankExecutor::lead_action(wire::LeadAction::Reader message) {
  if (message.getStep() != lead_step_) number_ = 0;
  lead_step_ = message.getStep();
  D9D_CHECK(message.getNumber() == number_, "action {} of step {} was announced where {} is next",
            message.getNumber(), message.getStep(), number_);
  ++number_;
  led_.push_back({message.getStep(), instruction_of(message)});
  advance();
}

void RankExecutor::bucket_reduced(wire::BucketReduced::Reader message) {
  D9D_CHECK(message.getStep() == step() && reductions_pending_ > 0,
            "bucket {} of step {} was reduced in step {}", message.getBucket(), message.getStep(), step());
  --reductions_pending_;
  squared_norm_ += message.getSquaredNorm();
  finish_step_when_done();
}

void RankExecutor::collect_metrics(wire::CollectMetrics::Reader message) {
  const std::vector<double> state = worker_->take_metrics();
  tell<wire::MetricsTaken>({Role::metric_collector, self().index}, [&](wire::MetricsTaken::Builder taken) {
    taken.setStep(message.getStep());
    fill_list(taken.initState(static_cast<unsigned>(state.size())), state);
  });
}

void RankExecutor::apply_step(wire::ApplyStep::Reader message) {
  {
    const Work work(*this, {.actor = optimizer_track_,
                            .name = trace_name("optimizer"),
                            .step = trace::step_of_span(message.getStep()),
                            .category = trace::Category::compute});
    worker_->apply(message.getGradientScale(), message.getLearningRate());
  }
  tell<wire::StepApplied>({Role::trainer, self().index},
                          [&](wire::StepApplied::Builder applied) { applied.setStep(message.getStep()); });
  if (message.hasCosts() && message.getCosts().size() > 0) {
    worker_->agree(to_vector<double>(message.getCosts()));
  }
}

void RankExecutor::snapshot(wire::Snapshot::Reader message) {
  const Ticket ticket = worker_->snapshot();
  tell<wire::WriteShard>(options_.checkpoint_writer, [&](wire::WriteShard::Builder write) {
    write.setStep(message.getStep());
    write.setDirectory(message.getDirectory());
    write.setFile(fmt::format("rank-{:05}", options_.rank));
    write.setTicket(ticket.packed());
    write.setRank(options_.rank);
  });
  tell<wire::MetricState>({Role::trainer, self().index}, [&](wire::MetricState::Builder state) {
    state.setStep(message.getStep());
    state.setState(worker_->metric_state());
  });
}

void RankExecutor::advance() {
  while (in_step_) {
    const auto instruction = next();
    if (!instruction) break;
    run(*instruction);
  }
  finish_step_when_done();
}

std::optional<Instruction> RankExecutor::next() {
  if (options_.leader) {
    if (led_.empty() || led_.front().step != step() || !worker_->follow(led_.front().instruction)) return {};
    Instruction instruction = std::move(led_.front().instruction);
    led_.pop_front();
    return instruction;
  }
  auto instruction = worker_->next(now());
  if (instruction) {
    lead(*instruction);
  } else {
    look_again_when_due();
  }
  return instruction;
}

// The worker would run something else if what it waits for is not there by then. Told once for each time.
void RankExecutor::look_again_when_due() {
  const std::optional<double> due = worker_->look_again();
  if (!due || *due == looks_again_at_) return;
  looks_again_at_ = *due;
  const double seconds = *due - now();
  const auto nanoseconds = static_cast<std::int64_t>(1e9 * seconds) + 1;
  tell_self_after<wire::Tick>(std::chrono::nanoseconds(std::max<std::int64_t>(nanoseconds, 0)),
                              [](wire::Tick::Builder) {});
}

// Told before it runs: the others meet this rank in collectives inside of it.
void RankExecutor::lead(const Instruction& instruction) {
  if (options_.followers.empty()) return;
  if (step() != lead_step_) number_ = 0;
  lead_step_ = step();
  for (const int rank : options_.followers) {
    tell<wire::LeadAction>({Role::rank_executor, static_cast<std::uint64_t>(rank)},
                           [&](wire::LeadAction::Builder lead) {
                             lead.setStep(step());
                             lead.setNumber(number_);
                             fill_parts(lead, instruction);
                           });
  }
  ++number_;
}

void RankExecutor::run(const Instruction& instruction) {
  const Action& action = instruction.parts.front();
  const std::int64_t begin = world().clock.now_ns();
  if (!tracks_.empty()) running_track_ = tracks_.at(static_cast<std::size_t>(action.stage));
  const Work work(*this, {.actor = running_track_,
                          .name = trace_name(to_string(instruction)),
                          .step = static_cast<std::int32_t>(step()),
                          .stage = static_cast<std::int16_t>(action.stage),
                          .microbatch = static_cast<std::int16_t>(action.microbatch),
                          .category = trace::Category::compute});
  const ActionReport report = worker_->run(instruction);
  for (const StageOutput& output : report.outputs) hand_on(output);
  const double seconds = seconds_since(begin);
  compute_seconds_ += seconds;
  worker_->ran(instruction, seconds);
}

double RankExecutor::seconds_since(std::int64_t begin_ns) {
  return 1e-9 * static_cast<double>(world().clock.now_ns() - begin_ns);
}

void RankExecutor::hand_on(const StageOutput& output) {
  const int rank = options_.rank_of_stage.at(static_cast<std::size_t>(output.stage));
  const auto& remote = options_.remote_ranks;
  const auto fill = [&](auto builder) {
    builder.setStep(step());
    builder.setStage(static_cast<std::uint32_t>(output.stage));
    builder.setMicrobatch(static_cast<std::uint32_t>(output.microbatch));
    builder.setTicket(output.ticket.packed());
    builder.setProducedNs(world().clock.now_ns());
  };
  if (std::find(remote.begin(), remote.end(), rank) != remote.end()) {
    tell<wire::SendTensors>(lane_id(options_.rank, rank, LaneEnd::sender),
                            [&](wire::SendTensors::Builder send) {
                              fill(send);
                              send.setGradient(output.gradient);
                            });
    return;
  }
  const ActorId holder{Role::rank_executor, static_cast<std::uint64_t>(rank)};
  if (output.gradient) {
    tell<wire::GradientReady>(holder, fill);
  } else {
    tell<wire::ActivationReady>(holder, fill);
  }
}

void RankExecutor::request_reduction(int bucket) {
  ++reductions_pending_;
  const int group = bucket_groups_.at(static_cast<std::size_t>(bucket));
  tell<wire::ReduceBucket>(options_.collectives.at(static_cast<std::size_t>(group)),
                           [&](wire::ReduceBucket::Builder reduce) {
                             reduce.setStep(step());
                             reduce.setBucket(static_cast<std::uint32_t>(bucket));
                           });
}

void RankExecutor::finish_step_when_done() {
  if (!in_step_ || reductions_pending_ > 0 || !worker_->step_done()) return;
  in_step_ = false;
  const StepTotals totals = worker_->finish_step();
  tell<wire::StepComputed>({Role::trainer, self().index}, [&](wire::StepComputed::Builder computed) {
    computed.setStep(step());
    computed.setLossSum(totals.loss_sum);
    computed.setWeightSum(totals.weight_sum);
    computed.setSquaredNorm(totals.squared_norm + squared_norm_);
    computed.setComputeSeconds(compute_seconds_);
    fill_list(computed.initCosts(static_cast<unsigned>(totals.costs.size())), totals.costs);
  });
}

}  // namespace d9d
