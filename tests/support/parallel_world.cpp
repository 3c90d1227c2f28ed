#include "tests/support/parallel_world.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <exception>
#include <iterator>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/factory.hpp"
#include "runtime/data/next_tokens.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/nccl/emulated.hpp"
#include "runtime/job/plan/gradient_groups.hpp"
#include "runtime/nn/model/initial_weights.hpp"
#include "runtime/pipeline/program/build_program.hpp"
#include "runtime/provider/family_provider.hpp"
#include "runtime/provider/model_provider.hpp"
#include "runtime/rank/feed/context_split.hpp"
#include "runtime/rank/feed/microbatch_parcel.hpp"
#include "runtime/rank/group/group_worker.hpp"
#include "runtime/rank/group/rank_gradients.hpp"
#include "runtime/rank/pipeline_worker.hpp"
#include "runtime/rank/state/shard_files.hpp"
#include "runtime/task/causal_lm_task.hpp"
#include "runtime/train/flat_parameters.hpp"
#include "runtime/train/optimizer/optimizer_provider.hpp"

namespace d9d::test {
namespace {

void call(const std::string& /*name*/, std::uint64_t /*bytes*/, const std::function<void()>& work) {
  work();
}

// One microbatch of what a rank works on.
struct RankBatch {
  TensorMap inputs;  // of the first stage
  TensorMap shared;  // labels, position_ids
  TensorMap state;   // of the task
};

constexpr std::uint64_t world_seed = 1;

int device_of(const ParallelCase& given, int rank) {
  return given.devices > 0 ? rank % given.devices : rank;
}

DeviceCollectives device_collectives(const ParallelCase& given) {
  using Kind = DeviceCollectives::Kind;
  if (!given.delayed) return {};
  if (!given.nccl) return {.kind = Kind::local};
  const nccl::Api* const table = given.nccl_table != nullptr ? given.nccl_table : &nccl::emulated_nccl();
  return {
      .kind = Kind::nccl, .nccl = table, .device_of = [given](int rank) { return device_of(given, rank); }};
}

at::Tensor block_of(at::Tensor global, const Slice& slice) {
  for (std::size_t dim = 0; dim < slice.begin.size(); ++dim) {
    global =
        global.narrow(static_cast<std::int64_t>(dim), slice.begin[dim], slice.end[dim] - slice.begin[dim]);
  }
  return global;
}

// What the ranks found, put together.
class Gathered {
 public:
  void add_totals(double loss_sum, double weight_sum, double norm_share) {
    const std::lock_guard lock(mutex_);
    loss_ += loss_sum;
    weight_ += weight_sum;
    squares_ += norm_share;
  }

  void add_gradient(const StageParameter& parameter) {
    const std::lock_guard lock(mutex_);
    const auto [place, is_new] = entries_.try_emplace(parameter.name);
    Entry& entry = place->second;
    const at::Tensor own = parameter.tensor.grad().to(at::kCPU);
    if (is_new) {
      entry.gradient = at::zeros(parameter.layout.global_shape(), own.options());
      entry.found = at::zeros(parameter.layout.global_shape(), at::kBool);
    }
    const Slice slice = parameter.layout.local_slice();
    const at::Tensor found = block_of(entry.found, slice);
    const at::Tensor gradient = block_of(entry.gradient, slice);
    if (found.any().item<bool>()) {
      EXPECT_TRUE(at::equal(gradient, own)) << "replicas differ in " << parameter.name;
    }
    gradient.copy_(own);
    found.fill_(true);
  }

  Trained result() const {
    Trained trained{loss_ / weight_, {}, std::sqrt(squares_) / weight_};
    for (const auto& [name, entry] : entries_) {
      EXPECT_TRUE(entry.found.all().item<bool>()) << "no rank holds some elements of " << name;
      trained.gradients[name] = entry.gradient / weight_;
    }
    return trained;
  }

 private:
  struct Entry {
    at::Tensor gradient;
    at::Tensor found;  // bool: some rank has given this element
  };
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  double loss_ = 0, weight_ = 0, squares_ = 0;
};

// Tensors on their way from one rank's stage to another's.
class Inbox {
 public:
  void put(const StageTensor& output) {
    const std::lock_guard lock(mutex_);
    arrived_.push_back(output);
    changed_.notify_one();
  }
  // Waits for the next; throws when the world ends instead.
  StageTensor take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !arrived_.empty(); });
    if (closed_) throw Error(ErrorKind::environment, "another rank failed");
    const StageTensor output = arrived_.front();
    arrived_.pop_front();
    return output;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<StageTensor> arrived_;
  bool closed_ = false;
};

// The job's model, with some of its weights given.
class GivenWeights final : public ModelProvider {
 public:
  GivenWeights(std::shared_ptr<const ModelProvider> model, TensorMap weights)
      : model_(std::move(model)), weights_(std::move(weights)) {}

  std::unique_ptr<StageModule> build_stage(StagePosition position) const override {
    return model_->build_stage(position);
  }
  std::vector<StageParameter> parallelize(StageModule& module, StageGroups& groups,
                                          const ParallelOptions& options) const override {
    return model_->parallelize(module, groups, options);
  }
  // Whose factors B would begin at zero, and with them the gradients of the factors A.
  void load_adapter(const std::vector<StageParameter>& parameters) const override {
    std::vector<StageParameter> drawn;
    std::copy_if(parameters.begin(), parameters.end(), std::back_inserter(drawn),
                 [](const StageParameter& parameter) { return parameter.of_adapter; });
    for (StageParameter& parameter : drawn) parameter.initial = {Initial::Kind::normal, 0.2F};
    draw_initial_weights(drawn, world_seed);
  }
  void load_weights(const std::string& /*directory*/, StagePosition /*position*/,
                    const std::vector<StageParameter>& parameters) const override {
    draw_initial_weights(parameters, world_seed);
    for (const StageParameter& parameter : parameters) {
      const auto own = weights_.find(parameter.name);
      if (own == weights_.end()) continue;
      parameter.tensor.detach().copy_(block_of(own->second, parameter.layout.local_slice()));
    }
  }

 private:
  const std::shared_ptr<const ModelProvider> model_;
  const TensorMap weights_;
};

class World {
 public:
  explicit World(const ParallelCase& given)
      : given_(given),
        plan_(given.mesh, {given.mesh.world_size()}),
        topology_(topology_of(given.schedule, given.mesh.pipeline_parallel)),
        factory_(plan_, hub_, nullptr, {.timeout = given.timeout, .devices = device_collectives(given)}),
        provider_(std::make_shared<GivenWeights>(
            make_family_provider(given.other ? given.other : std::make_shared<Qwen3Config>(given.model),
                                 Dtype::float32,
                                 {given.enable_checkpointing, given.offload_layers, given.checkpoint_keeps},
                                 StageSplit{}, disk_, {given.peft, ""}),
            given.weights)),
        inboxes_(static_cast<std::size_t>(plan_.world_size())) {}

  Trained run() {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < plan_.world_size(); ++rank) {
      threads.emplace_back([this, rank] { run_or_abort(rank); });
    }
    for (std::thread& thread : threads) thread.join();
    if (error_) std::rethrow_exception(error_);
    return gathered_.result();
  }

 private:
  void run_or_abort(int rank) {
    try {
      run_rank(rank);
    } catch (const std::exception& error) {
      {
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::current_exception();
      }
      hub_.abort_all(error.what());
      factory_.abort_devices(error.what());
      for (Inbox& inbox : inboxes_) inbox.close();
    }
  }

  std::shared_ptr<Communicator> open(int rank, const std::string& domain,
                                     const std::vector<std::string>& axes, const std::string& use) const {
    return factory_.open(rank, domain, axes, use);
  }
  void run_rank(int rank);
  std::unique_ptr<RankWorker> worker_of(int rank, const std::shared_ptr<RankGradients>& gradients,
                                        BucketObserver& buckets);
  std::vector<std::shared_ptr<CollectiveWorker>> collectives_of(
      int rank, const std::shared_ptr<RankGradients>& gradients) const;
  std::vector<RankBatch> batches_of(int rank) const;
  std::vector<Ticket> microbatches_of(int rank);
  void run_step(int rank, RankPass& pass);

  const ParallelCase& given_;
  const Plan plan_;
  const Topology topology_;
  SharedMemoryHub hub_;
  const CommunicatorFactory factory_;
  PosixDisk disk_;
  const std::shared_ptr<const ModelProvider> provider_;
  std::vector<Inbox> inboxes_;  // by rank
  TensorTable table_{4096};
  Gathered gathered_;
  std::mutex mutex_;
  std::exception_ptr error_;
};

// Its samples in equal parts, and of those its tokens.
std::vector<RankBatch> World::batches_of(int rank) const {
  const std::int64_t samples = given_.batch.at("input_ids").size(0);
  const int parts = given_.mesh.data_parallel() * given_.microbatches;
  D9D_CHECK(samples % parts == 0, "{} samples are not divisible by {} microbatches", samples, parts);
  std::vector<RankBatch> batches;
  for (int i = 0; i < given_.microbatches; ++i) {
    const std::int64_t first = (plan_.placement(rank).data * given_.microbatches + i) * (samples / parts);
    const auto own = [&](const at::Tensor& whole) {
      return whole.narrow(0, first, samples / parts).contiguous();
    };
    TensorMap microbatch;
    for (const auto& [name, tensor] : given_.batch)
      if (name != "whole_labels") microbatch[name] = own(tensor);
    const auto next = given_.batch.find("next_ids");
    if (next != given_.batch.end()) add_next_tokens(microbatch, next->second.size(2));
    RankBatch batch;
    batch.shared =
        split_sequence(std::move(microbatch), context_place(plan_, rank, given_.options.context.order));
    batch.state = CausalLmTask().build_forward_inputs({1, i, batch.shared}).state;
    batch.inputs.insert(batch.shared.extract("input_ids"));
    batches.push_back(std::move(batch));
  }
  return batches;
}

std::vector<Ticket> World::microbatches_of(int rank) {
  std::vector<Ticket> tickets;
  for (const RankBatch& batch : batches_of(rank)) {
    tickets.push_back(table_.put(
        std::make_unique<MicrobatchParcel>(MicrobatchTensors{batch.inputs, batch.shared, batch.state})));
  }
  return tickets;
}

std::unique_ptr<RankWorker> World::worker_of(int rank, const std::shared_ptr<RankGradients>& gradients,
                                             BucketObserver& buckets) {
  const auto task = std::make_shared<CausalLmTask>();
  return make_pipeline_worker(
      {.services = {.rank = rank,
                    .plan = &plan_,
                    .device = given_.delayed ? delayed_device(device_of(given_, rank)) : cpu_device(),
                    .open_group = [this, rank](const auto& domain, const auto& axes,
                                               const auto& use) { return open(rank, domain, axes, use); },
                    .open_pair = [this, rank](int one, int other,
                                              const std::string& use) -> std::shared_ptr<Communicator> {
                      return factory_.open_pair(rank, one, other, use);
                    },
                    .gradients = gradients,
                    .table = &table_},
       .order = {.schedule = given_.schedule, .overlap = given_.overlap},
       .model = {.provider = provider_,
                 .parallel = given_.options,
                 .seed = world_seed,
                 .optimizer = provider_of(AdamWOptions{.lr = 1})},
       .state = {.disk = &disk_, .source_checkpoint = "the given weights"},
       .task = {.task = task},
       .metrics = {.declare = [task](Compose& metrics) { task->create_metrics(metrics); }}},
      buckets, given_.detailed ? CommTracing{nullptr, &call, &call} : CommTracing{});
}

std::vector<std::shared_ptr<CollectiveWorker>> World::collectives_of(
    int rank, const std::shared_ptr<RankGradients>& gradients) const {
  std::vector<std::shared_ptr<CollectiveWorker>> workers;
  for (const GradientGroup& group : gradient_groups(plan_.domains(), given_.options)) {
    const auto opener = [&](const std::vector<std::string>& axes, const std::string& use) {
      if (axes.empty()) return OpenCommunicator();
      return OpenCommunicator([=, this, domain = group.domain] { return open(rank, domain, axes, use); });
    };
    const std::string use = "gradients " + std::to_string(workers.size());
    workers.push_back(
        make_group_worker({use, opener(group.scatter, use + " scattered"), opener(group.axes, use), gradients,
                           static_cast<int>(workers.size())}));
    workers.back()->prepare();
  }
  return workers;
}

// What a RankExecutor actor does between BeginStep and the end of the step.
void World::run_step(int rank, RankPass& pass) {
  const std::vector<int> pipeline = plan_.group(rank, regular_domain, {"pp"}).ranks;
  pass.begin({.step = 1, .microbatches = microbatches_of(rank)});
  while (!pass.order().step_done()) {
    const auto next = pass.order().next(/*now=*/0);
    if (!next) {
      pass.put(inboxes_[static_cast<std::size_t>(rank)].take());
      continue;
    }
    for (const StageTensor& output : pass.run(next->instruction)) {
      const int receiver = pipeline[static_cast<std::size_t>(topology_.rank_of(output.stage))];
      inboxes_[static_cast<std::size_t>(receiver)].put(output);
    }
  }
}

// Reduces on the rank's thread, where in a job the Collectives have theirs.
struct ReduceAtOnce final : BucketObserver {
  void bucket_complete(int bucket) override {
    const int group = groups[static_cast<std::size_t>(bucket)];
    squares += collectives[static_cast<std::size_t>(group)]->reduce_bucket(bucket);
  }
  std::vector<int> groups;  // of the buckets
  std::vector<std::shared_ptr<CollectiveWorker>> collectives;
  double squares = 0;
};

void World::run_rank(int rank) {
  const auto gradients = std::make_shared<RankGradients>();
  ReduceAtOnce buckets;
  const std::unique_ptr<RankWorker> worker = worker_of(rank, gradients, buckets);
  buckets.groups = worker->prepare().bucket_groups;
  buckets.collectives = collectives_of(rank, gradients);
  RankPass& pass = worker->pass(RankPass::Kind::train);
  Ticket snapshot;
  const auto write = [&](int step) {
    if (const Ticket shard = std::exchange(snapshot, {}))
      write_shard_file(disk_, table_, given_.snapshots, fmt::format("rank-{}-step-{}", rank, step), shard);
  };
  for (int step = 1; step <= given_.updates; ++step) {
    run_step(rank, pass);
    pass.finish();
    worker->update().apply(/*gradient_scale=*/0.01, /*lr_multiplier=*/0.001, /*update=*/0);
    write(step - 1);
    if (!given_.snapshots.empty()) snapshot = worker->state().snapshot().shard;
  }
  buckets.squares = 0;
  const auto step = [&] { run_step(rank, pass); };
  given_.around_step ? given_.around_step(rank, step) : step();
  const StepTotals totals = pass.finish().totals;
  write(given_.updates);
  if (given_.after_step) given_.after_step(rank, *worker);
  gathered_.add_totals(totals.loss_sum, totals.weight_sum, totals.norm_share + buckets.squares);
  for (const StageParameter& parameter : gradients->parameters->parameters()) {
    if (parameter.tensor.requires_grad()) gathered_.add_gradient(parameter);
  }
}

}  // namespace

Trained train_once(const ParallelCase& given) {
  return World(given).run();
}

}  // namespace d9d::test
