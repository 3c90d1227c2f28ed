#include "actors/rank_executor.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "actors/notes/led_instruction.hpp"
#include "actors/notes/text_messages.hpp"
#include "messages/lists.hpp"
#include "runtime/base/error.hpp"
#include "runtime/trace/record/scoped_span.hpp"

namespace d9d {

namespace {

// Between devices a tensor is copied after its message has come, and the devices measure the
// time of the copy.
bool is_of_this_process(const StageTensor& tensor, const RankExecutorOptions& options) {
  const auto sender = static_cast<std::size_t>(tensor.gradient ? tensor.stage + 1 : tensor.stage - 1);
  const auto& remote = options.remote_ranks;
  return std::find(remote.begin(), remote.end(), options.rank_of_stage.at(sender)) == remote.end();
}

RankPass::Kind kind_of(const Pass& pass) {
  using enum RankPass::Kind;
  static constexpr std::array kinds{train, evaluate, infer, texts, texts};  // in the order of the schema
  return kinds.at(static_cast<std::size_t>(pass.kind));
}

}  // namespace

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
  handlers.on(this, &RankExecutor::hook_gradients);
  handlers.on(this, &RankExecutor::apply_step);
  handlers.on(this, &RankExecutor::snapshot);
  handlers.on(this, &RankExecutor::sleep);
  handlers.on(this, &RankExecutor::wake);
  handlers.on(this, &RankExecutor::generate_texts);
  handlers.on(this, &RankExecutor::write_rollouts);
  handlers.on(this, &RankExecutor::restore_state);
}

void RankExecutor::started() {
  const std::int64_t begin = world().clock.now_ns();
  worker_ = options_.make_worker(*this, comm_tracing());
  device_ = std::make_unique<DeviceTracks>(worker_->work_log(), world().recorder, options_.rank);
  if (options_.traces_kernels) device_->trace_kernels(worker_->late_device(), *options_.traces_kernels);
  PreparedRank prepared = worker_->prepare();
  bucket_groups_ = std::move(prepared.bucket_groups);
  if (world().recorder != nullptr) {
    for (std::size_t s = 0; s < options_.rank_of_stage.size(); ++s) {
      tracks_.push_back(world().recorder->actor("compute stage " + std::to_string(s), options_.rank));
    }
    optimizer_track_ = world().recorder->actor("compute optimizer", options_.rank);
  }
  tell<wire::Ready>(parent(), [&](wire::Ready::Builder ready) {
    ready.setRank(options_.rank);
    ready.setEntries(prepared.entries_loaded);
    ready.setSeconds(seconds_since(begin));
  });
}

void RankExecutor::begin_step(wire::BeginStep::Reader message) {
  D9D_CHECK(!running_, "step {} begins while step {} is running", message.getStep(), step());
  set_step(message.getStep());
  device_->begin_step(step());
  if (links_ == Links::in_use) options_.a_step_has_ended();
  links_ = links_ == Links::fresh ? Links::in_use : Links::proved;
  reductions_pending_ = 0;
  norm_share_ = 0;
  pass_ = pass_of(message.getPass());
  PassRequest request{.step = step()};
  if (pass_.trains()) request.update = static_cast<int>(pass_.number);
  for (const std::uint64_t packed : message.getMicrobatches())
    request.microbatches.push_back(Ticket::from_packed(packed));
  if (pass_.is_step()) {
    if (options_.events->is_heard()) worker_->state().let_change();
    if (pass_.number == 0) options_.events->tell(events::StepPre{step()});
    options_.events->tell(events::ForwardPre{step()});
  }
  if (pass_ == Pass{PassKind::EVALUATE, 1}) options_.events->tell(events::EvaluationPre{step()});
  begin_pass(request);
}

void RankExecutor::begin_pass(const PassRequest& request) {
  compute_seconds_ = 0;
  running_ = &worker_->pass(kind_of(pass_));
  running_->begin(request);
  put_what_came_early();
  advance();
}

// A neighbour may be several evaluation batches ahead, so tensors of later ones stay.
void RankExecutor::put_what_came_early() {
  const Begun now(step(), pass_);
  std::erase_if(early_, [&](const auto& early) {
    const auto& [begun, tensor] = early;
    D9D_CHECK(begun >= now, "a tensor of step {}, {}, waits while step {}, {}, begins", begun.first,
              to_string(begun.second), step(), to_string(pass_));
    if (begun > now) return false;
    running_->put(tensor);
    return true;
  });
}

void RankExecutor::activation_ready(wire::ActivationReady::Reader message) {
  tensor_ready(message, false, pass_of(message.getPass()));
}

void RankExecutor::gradient_ready(wire::GradientReady::Reader message) {
  tensor_ready(message, true, pass_of(message.getPass()));
}

template <class Reader>
void RankExecutor::tensor_ready(Reader message, bool gradient, const Pass& pass) {
  const StageTensor tensor{gradient, static_cast<int>(message.getStage()),
                           static_cast<int>(message.getMicrobatch()),
                           Ticket::from_packed(message.getTicket())};
  if (pass.trains() && !(device_->is_late() && is_of_this_process(tensor, options_)))
    worker_->programs().add_transfer_time(gradient, tensor.stage, seconds_since(message.getProducedNs()));
  if (!running_ || message.getStep() != step() || pass != pass_) {
    early_.emplace_back(Begun(message.getStep(), pass), tensor);
    return;
  }
  running_->put(tensor);
  advance();
}

// The order may now give up waiting for the head of the program.
void RankExecutor::tick(wire::Tick::Reader /*message*/) {
  advance();
}

void RankExecutor::lead_action(wire::LeadAction::Reader message) {
  worker_->pass(RankPass::Kind::train)
      .order()
      .follow({{message.getStep(), message.getUpdate()}, message.getNumber(), instruction_of(message)});
  advance();
}

void RankExecutor::bucket_reduced(wire::BucketReduced::Reader message) {
  D9D_CHECK(message.getStep() == step() && reductions_pending_ > 0,
            "bucket {} of step {} was reduced in step {}", message.getBucket(), message.getStep(), step());
  --reductions_pending_;
  norm_share_ = joined_shares(options_.norm, norm_share_, message.getNormShare());
  finish_pass_when_done();
}

void RankExecutor::advance() {
  while (running_) {
    const auto next = running_->order().next(seconds_since(0));
    if (!next) {
      wake_up_when_due();
      break;
    }
    if (pass_.trains()) lead(*next);  // with forwards only, all ranks have the same order
    run(next->instruction);
  }
  finish_pass_when_done();
}

// Sets a timer for the time when the order may choose another action, if the awaited tensor has
// not come by then.
void RankExecutor::wake_up_when_due() {
  const std::optional<double> due = running_->order().take_wakeup();
  if (!due) return;
  const auto nanoseconds = static_cast<std::int64_t>(1e9 * (*due - seconds_since(0))) + 1;
  tell_self_after<wire::Tick>(std::chrono::nanoseconds(std::max<std::int64_t>(nanoseconds, 0)),
                              [](wire::Tick::Builder) {});
}

// Sent before the action runs, because the other ranks must join the collectives inside it.
void RankExecutor::lead(const OrderedInstruction& next) {
  for (const int rank : options_.followers) {
    tell<wire::LeadAction>({Role::rank_executor, static_cast<std::uint64_t>(rank)},
                           [&](wire::LeadAction::Builder lead) {
                             lead.setStep(next.pass.step);
                             lead.setUpdate(next.pass.update);
                             lead.setNumber(next.number);
                             fill_parts(lead, next.instruction);
                           });
  }
}

void RankExecutor::run(const Instruction& instruction) {
  const Action& action = instruction.parts.front();
  const std::int64_t begin = world().clock.now_ns();
  if (!tracks_.empty()) running_track_ = tracks_.at(static_cast<std::size_t>(action.stage));
  const Work work(*this, device_->begun({.actor = running_track_,
                                         .name = trace_name(to_string(instruction)),
                                         .step = static_cast<std::int32_t>(step()),
                                         .stage = static_cast<std::int16_t>(action.stage),
                                         .microbatch = static_cast<std::int16_t>(action.microbatch),
                                         .category = trace::Category::compute},
                                        !pass_.trains()));
  for (const StageTensor& tensor : running_->run(instruction)) send_tensor(tensor);
  if (device_->is_late()) return;  // record_done() returns the device's time
  const double seconds = seconds_since(begin);
  compute_seconds_ += seconds;
  if (pass_.trains()) worker_->programs().add_action_time(instruction, seconds);
}

double RankExecutor::seconds_since(std::int64_t begin_ns) {
  return 1e-9 * static_cast<double>(world().clock.now_ns() - begin_ns);
}

void RankExecutor::send_tensor(const StageTensor& tensor) {
  const int rank = options_.rank_of_stage.at(static_cast<std::size_t>(tensor.stage));
  const auto& remote = options_.remote_ranks;
  const auto fill = [&](auto builder) {
    builder.setStep(step());
    builder.setStage(static_cast<std::uint32_t>(tensor.stage));
    builder.setMicrobatch(static_cast<std::uint32_t>(tensor.microbatch));
    builder.setTicket(tensor.ticket.packed());
    builder.setProducedNs(world().clock.now_ns());
    fill_pass(builder.initPass(), pass_);
  };
  if (std::find(remote.begin(), remote.end(), rank) != remote.end()) {
    tell<wire::SendTensors>(lane_id(options_.rank, rank, LaneEnd::sender),
                            [&](wire::SendTensors::Builder send) {
                              fill(send);
                              send.setGradient(tensor.gradient);
                            });
    return;
  }
  const ActorId holder{Role::rank_executor, static_cast<std::uint64_t>(rank)};
  tensor.gradient ? tell<wire::GradientReady>(holder, fill) : tell<wire::ActivationReady>(holder, fill);
}

void RankExecutor::tell_texts(const Texts& texts) {
  if (pass_.kind == PassKind::ROLLOUTS) {
    for (const int rank : options_.same_samples) {
      in_parts(texts, [&](std::span<const WrittenText> part, bool more) {
        tell<wire::RolloutsWritten>({Role::loader, static_cast<std::uint64_t>(rank)},
                                    [&](wire::RolloutsWritten::Builder written) {
                                      written.setStep(rollouts_for_);
                                      fill_texts(written, part);
                                      written.setMore(more);
                                    });
      });
    }
    return;
  }
  tell<wire::TextsGenerated>(asker_, [&](wire::TextsGenerated::Builder generated) {
    generated.setStep(step());
    fill_texts(generated, texts);
  });
}

// Inside RankPass::run(), maybe on the thread of lane 1 while this actor's thread waits there:
// the two never run at a time and hand over under a mutex (step_observer.hpp), so the counter and tell() are safe.
void RankExecutor::bucket_complete(int bucket) {
  ++reductions_pending_;
  const int group = bucket_groups_.at(static_cast<std::size_t>(bucket));
  tell<wire::ReduceBucket>(options_.collectives.at(static_cast<std::size_t>(group)),
                           [&](wire::ReduceBucket::Builder reduce) {
                             reduce.setStep(step());
                             reduce.setBucket(static_cast<std::uint32_t>(bucket));
                           });
}

PassResult RankExecutor::finished(RankPass& ended) {
  const trace::ScopedSpan span(device_->is_late() ? world().recorder : nullptr, world().clock,
                               {.actor = running_track_,
                                .name = trace_name(trace::host_wait),
                                .step = traced_step(),
                                .category = trace::Category::wait});
  return ended.finish();
}

void RankExecutor::finish_pass_when_done() {
  if (!running_ || reductions_pending_ > 0 || !running_->order().step_done()) return;
  const PassResult result = finished(*std::exchange(running_, nullptr));
  const StepTotals& totals = result.totals;
  compute_seconds_ += device_->record_done();
  if (pass_.is_step()) options_.events->tell(events::ForwardPost{step()});
  if (pass_.kind == PassKind::INFER) options_.events->tell(events::StepPost{.step = step()});
  if (!result.texts.empty()) tell_texts(result.texts);
  tell<wire::StepComputed>({Role::trainer, self().index}, [&](wire::StepComputed::Builder computed) {
    computed.setStep(step());
    fill_pass(computed.initPass(), pass_);
    computed.setLossSum(totals.loss_sum);
    computed.setWeightSum(totals.weight_sum);
    computed.setNormShare(joined_shares(options_.norm, totals.norm_share, norm_share_));
    computed.setComputeSeconds(compute_seconds_);
    fill_list(computed.initCosts(static_cast<unsigned>(totals.costs.size())), totals.costs);
  });
}

}  // namespace d9d
